package trainingjob

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	lookForPods   = 200 * time.Millisecond
	lookForSteps  = 15 * time.Millisecond
	answerTimeout = 500 * time.Millisecond // of an agent: a frozen one gives none
)

// Curve is the loss of every step that was seen, exactly as the job's workers reported it.
type Curve map[int64]float64

// Recorder asks a job's agents for their progress, over and over. A step that is trained twice must have the same loss.
type Recorder struct {
	kubernetes kubernetes.Interface
	namespace  string
	job        string
	client     http.Client

	mutex     sync.Mutex
	curve     Curve
	repeated  float64 // largest relative difference between two losses of one step
	following map[string]context.CancelFunc
}

// Record begins to ask; it ends with ctx.
func Record(ctx context.Context, client kubernetes.Interface, namespace, job string) *Recorder {
	r := &Recorder{kubernetes: client, namespace: namespace, job: job, client: http.Client{Timeout: answerTimeout},
		curve: Curve{}, following: map[string]context.CancelFunc{}}
	go r.followPods(ctx)
	return r
}

// Curve is what was seen so far, and the largest relative difference between two losses that one step had.
func (r *Recorder) Curve() (Curve, float64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	curve := make(Curve, len(r.curve))
	for step, loss := range r.curve {
		curve[step] = loss
	}
	return curve, r.repeated
}

func (r *Recorder) followPods(ctx context.Context) {
	tick := time.NewTicker(lookForPods)
	defer tick.Stop()
	for {
		// An error means nothing: the next look is soon.
		if pods, err := r.kubernetes.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: "sailor.dev/job-name=" + r.job}); err == nil {
			addresses := map[string]bool{}
			for _, pod := range pods.Items {
				if pod.Status.PodIP != "" {
					addresses[pod.Status.PodIP] = true
				}
			}
			r.followOnly(ctx, addresses)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *Recorder) followOnly(ctx context.Context, addresses map[string]bool) {
	for address, stop := range r.following {
		if !addresses[address] {
			stop()
			delete(r.following, address)
		}
	}
	for address := range addresses {
		if r.following[address] != nil {
			continue
		}
		agent, stop := context.WithCancel(ctx)
		r.following[address] = stop
		go r.follow(agent, address)
	}
}

func (r *Recorder) follow(ctx context.Context, address string) {
	tick := time.NewTicker(lookForSteps)
	defer tick.Stop()
	for {
		if step, loss, err := r.ask(ctx, address); err == nil && step > 0 {
			r.note(step, loss)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask is 0 where the agent has not the worker of rank 0.
func (r *Recorder) ask(ctx context.Context, address string) (step int64, loss float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+":7070/v1/state", nil)
	if err != nil {
		return 0, 0, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	var report struct {
		Progress struct {
			Step        int64   `json:"step"`
			ResumedStep int64   `json:"resumedStep"`
			Loss        float64 `json:"loss"`
		} `json:"progress"`
	}
	if err := json.NewDecoder(response.Body).Decode(&report); err != nil {
		return 0, 0, fmt.Errorf("the agent at %s: %w", address, err)
	}
	if report.Progress.Step <= report.Progress.ResumedStep {
		return 0, 0, nil // no step of this generation is done: the loss is none
	}
	return report.Progress.Step, report.Progress.Loss, nil
}

func (r *Recorder) note(step int64, loss float64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if before, seen := r.curve[step]; seen {
		r.repeated = math.Max(r.repeated, relative(before, loss))
	}
	r.curve[step] = loss
}

func relative(a, b float64) float64 { return math.Abs(a-b) / math.Max(math.Abs(a), math.Abs(b)) }

// Compare returns how many steps both curves have, and where they differ most, relative to the loss.
func (c Curve) Compare(other Curve) (common int, worst int64, difference float64) {
	for step, loss := range c {
		reference, seen := other[step]
		if !seen {
			continue
		}
		common++
		if d := relative(loss, reference); d > difference {
			worst, difference = step, d
		}
	}
	return common, worst, difference
}

// Last is the furthest step that was seen.
func (c Curve) Last() (last int64) {
	for step := range c {
		last = max(last, step)
	}
	return last
}
