package fleet

import (
	"sync"
	"time"
)

const (
	stepSeconds   = 0.5
	tokensOfAStep = 1024
)

// run is the training of one job, which all its agents report: it begins with its first assignment and never stops.
type run struct {
	mu         sync.Mutex
	began      time.Time // zero: it has no assignment yet
	steps      int64     // after which it ends
	generation int64     // the newest one
	resumed    int64     // the step at which that one began
}

// assign notes an assignment and returns the time until the last step is done.
func (r *run) assign(a assignment) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		r.began = time.Now()
	}
	r.steps = a.Training.Steps
	if a.Generation > r.generation {
		r.generation, r.resumed = a.Generation, r.step()
	}
	return time.Until(r.began.Add(time.Duration(float64(r.steps+1) * stepSeconds * float64(time.Second))))
}

func (r *run) step() int64 {
	return min(int64(time.Since(r.began).Seconds()/stepSeconds), r.steps)
}

// progress returns what the worker of rank 0 reports.
func (r *run) progress() *jobProgress {
	r.mu.Lock()
	defer r.mu.Unlock()
	step := r.step()
	source := "Memory"
	if r.resumed == 0 {
		source = "Start"
	}
	return &jobProgress{Generation: r.generation, Step: step, Loss: 5 - 5*float64(step)/float64(step+1000), FirstLoss: 5,
		Tokens: step * tokensOfAStep, TokensPerSecond: tokensOfAStep / stepSeconds, StepSeconds: stepSeconds, ResumedStep: r.resumed,
		Source: source, Times: times{Regroup: 0.01, Transfer: 0.01, FirstStep: stepSeconds, Stopped: stepSeconds + 0.02}}
}
