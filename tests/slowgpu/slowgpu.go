// Package slowgpu measures what a slow GPU costs a job on the local cluster: how soon the operator notices it, how long steps
// take by the plan that follows, and how soon the GPU is used as before once it is as fast as before.
package slowgpu

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

const (
	stepsToSettle  = 4  // under a new plan, before its steps are timed
	stepsToTime    = 12 // the number of steps of which the mean is taken
	attemptsToTime = 3
	lookForSteps   = 20 * time.Millisecond
	reasonOfSlower = "Straggler"
)

// Config is the configuration file of the cluster on which cases are played: mostly one pool of nodes with one GPU each.
func Config() (string, error) {
	root, err := testcluster.RepositoryRoot()
	return filepath.Join(root, "tests", "slowgpu", "cluster.yaml"), err
}

// Case is a job of some GPUs, each on a node of its own, of which one gets slow.
type Case struct {
	Workers int
	Factor  float64 // how many times as long the slow GPU takes
}

// Bound is how long a step takes at least, if it takes this long while all GPUs are equally fast: the number of GPUs over the
// sum of their speeds times as long. No division of the work is better.
func (c Case) Bound(usual time.Duration) time.Duration {
	count := float64(c.Workers)
	return time.Duration(float64(usual) * count / (count - 1 + 1/c.Factor))
}

// Span is how long something took.
type Span struct {
	Time  time.Duration
	Steps int64 // completed meanwhile
}

// Result is what was seen of a case from outside.
type Result struct {
	Node      string        // of the slow GPU
	Usual     time.Duration // the mean time of a step while all GPUs are equally fast
	Delayed   time.Duration // with the slow GPU, by the plan for equally fast ones; 0: no two steps ended by it
	Adapted   time.Duration // by the last plan that the operator made because of the slow GPU
	Recovered time.Duration // after the GPU is as fast as before
	Noticed   Span          // until the job's condition Degraded names a slow GPU
	Changed   Span          // until the first step by another plan
	Returned  Span          // from the GPU's recovery to the first step by a plan that uses it as before
	Reason    string        // of the change
	StepsLost int64
	Steps     []trainingjob.Sample // all that were seen, in the order of their times
	Marks     []Mark               // what happened, in the same order
}

// Mark is something that happened while steps were done.
type Mark struct {
	Time time.Time
	Text string
}

// Scene is where cases are played.
type Scene struct {
	Cluster   *testcluster.Cluster
	Namespace string
	Job       string // a job that has been applied
	// Watch returns the first state of the job for which the function returns true, or an error that says what was waited for.
	Watch func(ctx context.Context, what string, holds func(trainingjob.Job) (bool, error)) (trainingjob.Job, error)
	// Begin is called with what is done to the cluster, before it is done, and Tell with what was seen then.
	Begin, Tell func(text string)
}

// Run plays a case with a job that runs, or is about to run, on the GPUs of the case and no others.
func (s Scene) Run(ctx context.Context, c Case) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // the recorder ends with it
	run := run{Scene: s, wanted: c, recorder: trainingjob.Record(ctx, s.Cluster.Kubernetes, s.Namespace, s.Job, lookForSteps)}
	for _, chapter := range []func(context.Context) error{run.train, run.slow, run.recover} {
		if err := chapter(ctx); err != nil {
			return run.result, err
		}
	}
	run.result.Steps = run.recorder.Samples()
	return run.result, nil
}

// run is a case that is being played.
type run struct {
	Scene
	wanted   Case
	recorder *trainingjob.Recorder
	result   Result
	before   trainingjob.Job // as it was last seen
}

// train waits until the job's usual steps are timed.
func (r *run) train(ctx context.Context) (err error) {
	if r.result.Usual, err = r.timeSteps(ctx, "on equally fast GPUs"); err != nil {
		return err
	}
	if got := r.before.Status.Plan.TotalGPUs; got != r.wanted.Workers {
		return fmt.Errorf("job %s uses %d GPUs, not %d: give it as many nodes of one GPU, and no others", r.Job, got, r.wanted.Workers)
	}
	nodes, err := trainingjob.Nodes(ctx, r.Cluster.Kubernetes, r.Namespace, r.Job)
	if err == nil {
		r.result.Node = nodes[0]
	}
	return err
}

// slow makes a GPU slow and waits until the job has adapted to it.
func (r *run) slow(ctx context.Context) error {
	usual := r.before
	r.Begin(fmt.Sprintf("The GPU of node %s takes %g times as long from now on", r.result.Node, r.wanted.Factor))
	if err := r.Cluster.Slow(ctx, r.result.Node, r.wanted.Factor); err != nil {
		return err
	}
	began := r.mark(time.Now(), "one GPU is slow")
	seen, err := r.watch(ctx, "the job to say which GPU is slow", func(job trainingjob.Job) bool {
		return job.Is("Degraded") && job.Condition("Degraded").Reason == reasonOfSlower
	})
	if err != nil {
		return err
	}
	r.result.Noticed = Span{r.mark(time.Now(), "noticed").Sub(began), seen.Status.Progress.Step - usual.Status.Progress.Step}
	r.Tell(fmt.Sprintf("noticed after %s: %s", round(r.result.Noticed.Time), seen.Condition("Degraded").Message))
	changed, err := r.awaitChange(ctx, "the job to train by a plan for the slow GPU", usual, func(trainingjob.Job) bool { return true })
	if err != nil {
		return err
	}
	first, last, _ := r.recorder.FirstStep(usual.Status.Plan.Generation)
	r.result.Changed = Span{r.mark(first.Time, "new plan").Sub(began), last.Step - usual.Status.Progress.Step}
	r.result.Delayed = r.recorder.MeanStep(began, last.Time)
	r.result.Reason = changed.NewestRescale().Reason
	r.result.Adapted, err = r.timeSteps(ctx, "with the slow GPU")
	return err
}

// recover makes the GPU as fast as before and waits until it is used as before.
func (r *run) recover(ctx context.Context) error {
	adapted := r.before
	r.Begin(fmt.Sprintf("The GPU of node %s is as fast as before from now on", r.result.Node))
	if err := r.Cluster.Slow(ctx, r.result.Node, 1); err != nil {
		return err
	}
	began := r.mark(time.Now(), "it is as fast as before")
	returned, err := r.awaitChange(ctx, "the job to use the GPU as before", adapted, func(job trainingjob.Job) bool {
		return !job.Is("Degraded") && job.Status.Plan.TotalGPUs == r.wanted.Workers
	})
	if err != nil {
		return err
	}
	first, last, _ := r.recorder.FirstStep(returned.Status.Plan.Generation - 1)
	r.result.Returned = Span{r.mark(first.Time, "used as before").Sub(began), last.Step - adapted.Status.Progress.Step}
	r.result.Recovered, err = r.timeSteps(ctx, "on equally fast GPUs again")
	r.result.StepsLost = r.before.Status.Progress.StepsLost
	return err
}

func (r *run) mark(at time.Time, text string) time.Time {
	r.result.Marks = append(r.result.Marks, Mark{at, text})
	return at
}

// awaitChange waits until the job trains by a plan that is newer than that of the given state and for which the condition holds.
func (r *run) awaitChange(ctx context.Context, what string, from trainingjob.Job, holds func(trainingjob.Job) bool) (trainingjob.Job, error) {
	return r.watch(ctx, what, func(job trainingjob.Job) bool {
		return job.Status.Plan.Generation > from.Status.Plan.Generation && trains(job) && job.NewestRescale().Seconds != "" && holds(job)
	})
}

// timeSteps returns the mean time of the steps of a plan under which the job trains for long enough.
func (r *run) timeSteps(ctx context.Context, where string) (time.Duration, error) {
	for range attemptsToTime {
		if mean, err := r.tryToTimeSteps(ctx, where); mean > 0 || err != nil {
			return mean, err
		}
	}
	return 0, fmt.Errorf("%d times the plan of job %s changed while its steps were timed, or its agents did not say when they ended", attemptsToTime, r.Job)
}

// tryToTimeSteps returns 0 if the job changed to another plan just at the end.
func (r *run) tryToTimeSteps(ctx context.Context, where string) (time.Duration, error) {
	var generation, settled int64 // settled is the first step to be timed
	var from time.Time
	_, err := r.watch(ctx, "steps "+where, func(job trainingjob.Job) bool {
		step := job.Status.Progress.Step
		if job.Status.Plan.Generation != generation || !trains(job) {
			generation, settled, from = job.Status.Plan.Generation, step+stepsToSettle, time.Time{}
		}
		if step >= settled && from.IsZero() {
			settled, from = step, time.Now()
		}
		return trains(job) && !from.IsZero() && step >= settled+stepsToTime
	})
	if err != nil {
		return 0, err
	}
	mean := r.recorder.MeanStep(from, time.Now())
	if mean > 0 {
		r.Tell(fmt.Sprintf("a step takes %s %s", round(mean), where))
	}
	return mean, nil
}

func (r *run) watch(ctx context.Context, what string, holds func(trainingjob.Job) bool) (job trainingjob.Job, err error) {
	r.before, err = r.Watch(ctx, what, func(job trainingjob.Job) (bool, error) { return holds(job), nil })
	return r.before, err
}

func trains(job trainingjob.Job) bool { return job.Is("Running") && !job.Is("Rescaling") }

func round(t time.Duration) time.Duration { return t.Round(10 * time.Millisecond) }
