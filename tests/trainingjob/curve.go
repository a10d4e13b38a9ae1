package trainingjob

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sailor.dev/tests/credentials"
)

const (
	lookForPods   = 200 * time.Millisecond
	answerTimeout = 500 * time.Millisecond // a frozen agent does not answer
)

// Curve is the loss of every step that was seen, exactly as the job's workers reported it.
type Curve map[int64]float64

// Sample is a step when it was first seen to be done.
type Sample struct {
	Time       time.Time
	Generation int64
	Step       int64
}

// Recorder asks a job's agents for their progress, over and over, as their operator does. A step that is trained twice must have the same
// loss.
type Recorder struct {
	kubernetes kubernetes.Interface
	namespace  string
	job        string
	interval   time.Duration
	client     http.Client

	mutex     sync.Mutex
	curve     Curve
	samples   []Sample // sorted by time
	repeated  float64  // largest relative difference between two losses of one step
	following map[string]context.CancelFunc
}

// ShortSteps is how often to look for steps of a tenth of a second. Every look costs the agents a millisecond of processor time.
const ShortSteps = 15 * time.Millisecond

// Record asks every agent at this interval until ctx ends.
func Record(ctx context.Context, client kubernetes.Interface, namespace, job string, interval time.Duration) *Recorder {
	r := &Recorder{kubernetes: client, namespace: namespace, job: job, interval: interval, client: http.Client{Timeout: answerTimeout},
		curve: Curve{}, following: map[string]context.CancelFunc{}}
	go r.followPods(ctx)
	return r
}

// Curve returns the losses recorded so far, and the largest relative difference between two losses of the same step.
func (r *Recorder) Curve() (Curve, float64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	curve := make(Curve, len(r.curve))
	for step, loss := range r.curve {
		curve[step] = loss
	}
	return curve, r.repeated
}

// Samples are all steps seen so far, in the order of their times.
func (r *Recorder) Samples() []Sample {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.samples)
}

// FirstStep is the first step seen of a generation newer than the one given, and the last one seen before it.
func (r *Recorder) FirstStep(after int64) (first, before Sample, seen bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, sample := range r.samples {
		if sample.Generation > after {
			return sample, before, true
		}
		before = sample
	}
	return first, before, false
}

// MeanStep is the mean time of the steps seen between these times, of the newest generation among them. 0: fewer than two were
// seen.
func (r *Recorder) MeanStep(from, until time.Time) time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var first, last *Sample
	for i := range r.samples {
		sample := &r.samples[i]
		if sample.Time.Before(from) || sample.Time.After(until) {
			continue
		}
		if first == nil || first.Generation != sample.Generation {
			first = sample
		}
		last = sample
	}
	if first == nil || last.Step <= first.Step {
		return 0
	}
	return last.Time.Sub(first.Time) / time.Duration(last.Step-first.Step)
}

// identify gives the recorder the operator's certificate. It is called until it succeeds, as the operator may still be starting.
func (r *Recorder) identify(ctx context.Context) error {
	if r.client.Transport != nil {
		return nil
	}
	pair, err := credentials.OfOperator(ctx, r.kubernetes)
	if err != nil {
		return err
	}
	identity, err := pair.Client()
	if err != nil {
		return err
	}
	r.client.Transport = &http.Transport{TLSClientConfig: identity}
	return nil
}

func (r *Recorder) followPods(ctx context.Context) {
	tick := time.NewTicker(lookForPods)
	defer tick.Stop()
	for {
		// An error means nothing: the next look is soon.
		if addresses, err := r.look(ctx); err == nil {
			r.followOnly(ctx, addresses)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look returns the addresses of the job's pods.
func (r *Recorder) look(ctx context.Context) (map[string]bool, error) {
	if err := r.identify(ctx); err != nil {
		return nil, err
	}
	pods, err := r.kubernetes.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{LabelSelector: podsOf(r.job)})
	if err != nil {
		return nil, err
	}
	addresses := map[string]bool{}
	for _, pod := range pods.Items {
		if pod.Status.PodIP != "" {
			addresses[pod.Status.PodIP] = true
		}
	}
	return addresses, nil
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
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for {
		if progress, err := r.ask(ctx, address); err == nil && progress.Step > progress.ResumedStep {
			r.note(progress) // otherwise no step of this generation is done, or rank 0 is elsewhere
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// progress is the progress of the job as the agent of rank 0 reports it.
type progress struct {
	Generation  int64   `json:"generation"`
	Step        int64   `json:"step"`
	ResumedStep int64   `json:"resumedStep"`
	Loss        float64 `json:"loss"`
}

func (r *Recorder) ask(ctx context.Context, address string) (progress, error) {
	var report struct {
		Progress progress `json:"progress"`
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+":7070/v1/state", nil)
	if err != nil {
		return report.Progress, err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return report.Progress, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&report); err != nil {
		return report.Progress, fmt.Errorf("the agent at %s: %w", address, err)
	}
	return report.Progress, nil
}

func (r *Recorder) note(p progress) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	last := len(r.samples) - 1
	if last >= 0 && p.Generation < r.samples[last].Generation {
		return // the agent that had rank 0 before still says what it did
	}
	if last < 0 || r.samples[last].Step != p.Step || r.samples[last].Generation != p.Generation {
		r.samples = append(r.samples, Sample{time.Now(), p.Generation, p.Step})
	}
	if before, seen := r.curve[p.Step]; seen {
		r.repeated = math.Max(r.repeated, relative(before, p.Loss))
	}
	r.curve[p.Step] = p.Loss
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
