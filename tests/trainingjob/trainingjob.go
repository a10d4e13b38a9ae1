// Package trainingjob reads TrainingJobs as programs outside of the operator see them: what the tests and the demo look at.
package trainingjob

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Resource is TrainingJob's.
var Resource = schema.GroupVersionResource{Group: "sailor.dev", Version: "v1alpha1", Resource: "trainingjobs"}

// Job is a TrainingJob: its metadata and its status.
type Job struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            Status `json:"status"`
}

// Status is what crds/trainingjob.yaml describes.
type Status struct {
	State              string             `json:"state"`
	ObservedGeneration int64              `json:"observedGeneration"`
	Conditions         []metav1.Condition `json:"conditions"`
	Restarts           int                `json:"restarts"`
	Plan               Plan               `json:"plan"`
	Progress           Progress           `json:"progress"`
	Rescales           []Rescale          `json:"rescales"`
}

// Plan is the summary of the newest plan.
type Plan struct {
	Generation int64      `json:"generation"`
	Hash       string     `json:"hash"`
	ConfigMap  string     `json:"configMap"`
	TotalGPUs  int        `json:"totalGpus"`
	GPUs       []PoolGPUs `json:"gpus"`
	Estimate   Estimate   `json:"estimate"`
}

// PoolGPUs says how many GPUs of a pool a plan uses.
type PoolGPUs struct {
	Pool string `json:"pool"`
	GPUs int    `json:"gpus"`
}

// Estimate is what the simulator expects of the plan.
type Estimate struct {
	IterationSeconds string `json:"iterationSeconds"`
	TokensPerSecond  int64  `json:"tokensPerSecond"`
	CostPerIteration string `json:"costPerIteration"`
	CostPerHour      string `json:"costPerHour"`
}

// Progress is what the trainers reported.
type Progress struct {
	Step               int64  `json:"step"`
	TotalSteps         int64  `json:"totalSteps"`
	Completion         string `json:"completion"` // "120/600"
	Loss               string `json:"loss"`
	FirstLoss          string `json:"firstLoss"`
	TokensPerSecond    int64  `json:"tokensPerSecond"`
	Tokens             int64  `json:"tokens"`
	StepsLost          int64  `json:"stepsLost"`
	DollarsSpent       string `json:"dollarsSpent"`
	DollarsPerHour     string `json:"dollarsPerHour"`
	LastCheckpointStep int64  `json:"lastCheckpointStep"`
}

// Rescale is one change from one plan to the next.
type Rescale struct {
	Time           metav1.Time `json:"time"`
	Reason         string      `json:"reason"`
	Message        string      `json:"message"`
	FromGeneration int64       `json:"fromGeneration"`
	ToGeneration   int64       `json:"toGeneration"`
	FromGPUs       int         `json:"fromGpus"`
	ToGPUs         int         `json:"toGpus"`
	Seconds        string      `json:"seconds"`
	StoppedSeconds string      `json:"stoppedSeconds"`
	StepsLost      int64       `json:"stepsLost"` // UnknownSteps if the status does not say it
	Source         string      `json:"source"`
	FollowedBytes  int64       `json:"followedBytes"`
	MovedBytes     int64       `json:"movedBytes"`
	Withdrawn      bool        `json:"withdrawn"`
	Parts          Parts       `json:"parts"`
}

// UnknownSteps is the StepsLost of a change whose loss is not known, or not yet.
const UnknownSteps = -1

// UnmarshalJSON reads a change of the status.
func (r *Rescale) UnmarshalJSON(text []byte) error {
	type fields Rescale
	r.StepsLost = UnknownSteps
	return json.Unmarshal(text, (*fields)(r))
}

// ShareMovedInTheStop is the share of the state that moved after training had stopped, of all that moved for this change.
func (r Rescale) ShareMovedInTheStop() float64 {
	if r.FollowedBytes+r.MovedBytes == 0 {
		return 0
	}
	return float64(r.MovedBytes) / float64(r.FollowedBytes+r.MovedBytes)
}

// Parts are what a rescale's seconds were spent on.
type Parts struct {
	Detect    string `json:"detect"`
	Plan      string `json:"plan"`
	Pods      string `json:"pods"`
	Push      string `json:"push"`
	Regroup   string `json:"regroup"`
	Transfer  string `json:"transfer"`
	FirstStep string `json:"firstStep"`
}

// Condition is the condition of a type, or one that is Unknown.
func (j Job) Condition(kind string) metav1.Condition {
	if condition := meta.FindStatusCondition(j.Status.Conditions, kind); condition != nil {
		return *condition
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

// Is tells whether a condition holds.
func (j Job) Is(kind string) bool { return j.Condition(kind).Status == metav1.ConditionTrue }

// NewestRescale is the last change of plan, or one without content.
func (j Job) NewestRescale() Rescale {
	if count := len(j.Status.Rescales); count > 0 {
		return j.Status.Rescales[count-1]
	}
	return Rescale{}
}

// Decimal returns the number in a string of the status. An absent one is 0.
func Decimal(text string) float64 {
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

// Client gets and watches the jobs of a namespace.
type Client struct{ jobs dynamic.ResourceInterface }

// NewClient does not connect yet.
func NewClient(config *rest.Config, namespace string) (*Client, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Client{client.Resource(Resource).Namespace(namespace)}, nil
}

// Get reads a job.
func (c *Client) Get(ctx context.Context, name string) (Job, error) {
	object, err := c.jobs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Job{}, err
	}
	return fromObject(object)
}

func fromObject(object *unstructured.Unstructured) (job Job, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &job)
	return job, err
}

// Until watches a job and calls see with every state of the job until see returns true, or ctx ends.
func (c *Client) Until(ctx context.Context, name string, see func(Job) (bool, error)) error {
	for {
		done, err := c.watchOnce(ctx, name, see)
		if done || err != nil {
			return err
		}
		select { // the API server ends watches now and then
		case <-ctx.Done():
			return fmt.Errorf("watching job %s: %w", name, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *Client) watchOnce(ctx context.Context, name string, see func(Job) (bool, error)) (bool, error) {
	events, err := c.jobs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		if ctx.Err() != nil {
			return false, nil // Until says what ctx says
		}
		return false, fmt.Errorf("watching job %s: %w", name, err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		object, isObject := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Deleted {
			return false, fmt.Errorf("job %s was deleted", name)
		}
		if !isObject || event.Type == watch.Bookmark {
			continue
		}
		job, err := fromObject(object)
		if err != nil {
			return false, err
		}
		if done, err := see(job); done || err != nil {
			return done, err
		}
	}
	return false, nil
}
