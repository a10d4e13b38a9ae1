package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/trainingjob"
)

const (
	eventsEach       = 20 // the number of events of each kind; SAILOR_BENCH_EVENTS sets another number
	eventsOfLargeJob = 10 // the same for the large job, whose events take longer
	comparisons      = 5  // comparisons with a restart instead of a rescale; each takes long
	victimPool       = "l4-spot"
	lookForStep      = 5 * time.Millisecond
	settledSteps     = 5 // steps under a plan before the next event
)

// goals are upper limits of measured quantities for each kind of event. With stepsAside, a limit in seconds does not count the
// first step itself, which takes seconds with a large model.
type goals struct {
	limits     map[string]map[string]float64
	stepsAside bool
}

const (
	newNode    = "a new node is used (planned change)"
	withNotice = "a node goes with notice"
	killed     = "a node is killed"
	frozen     = "a node freezes"
	slowdown   = "steps while state is streamed"
)

var (
	goalsOfSmallJob = goals{map[string]map[string]float64{
		newNode:    {"training stops": 1, "steps lost": 0, slowdown: 1.1},
		withNotice: {"steps lost": 0},
		killed:     {"to the first step": 5, "steps lost": 1},
		frozen:     {"to the first step": 10, "steps lost": 1},
	}, false}
	goalsOfLargeJob = goals{map[string]map[string]float64{
		newNode:    {"training stops": 1, "steps lost": 0, "state moved in the stop": 0.1, slowdown: 1.1},
		withNotice: {"steps lost": 1}, // the one in flight
		killed:     {"to the first step": 3, "steps lost": 1},
		frozen:     {"to the first step": 8, "steps lost": 1},
	}, true}
)

// observation is one event as it was seen from outside: with the clock of this process and the answers of the agents.
type observation struct {
	untilStep float64 // seconds from the event to the first step of the next generation
	stopped   float64 // seconds from the last step before to that one
	lost      float64 // steps that had to be done again
	slowdown  float64 // how many times as long steps were while state was streamed as before the event; 0: unknown
	history   trainingjob.Rescale
}

type event struct {
	name    string
	happens func(context.Context) error
	after   func(context.Context) error // makes the job as it was, without being measured
}

// wanted: SAILOR_BENCH_ONLY chooses the kinds of events whose names contain it, and leaves the comparisons out.
func wanted(name string) bool { return strings.Contains(name, os.Getenv("SAILOR_BENCH_ONLY")) }

func (b *bench) eventCount() int {
	if count, err := strconv.Atoi(os.Getenv("SAILOR_BENCH_EVENTS")); err == nil && count > 0 {
		return count
	}
	return b.events
}

// rescales measures every kind of change of a job that runs.
func (b *bench) rescales(ctx context.Context) ([]row, error) {
	recorder := trainingjob.Record(ctx, b.cluster.Kubernetes, "default", b.spec.Name, b.interval)
	var rows []row
	for _, kind := range b.kinds() {
		if !wanted(kind.name) {
			continue
		}
		seen, err := b.observeAll(ctx, recorder, kind, b.eventCount())
		if len(seen) > 0 {
			rows = append(append(rows, b.summarize(kind, seen)...), b.parts(kind, seen)...)
		}
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// observeAll prints each event when it has happened, because all of them take a quarter of an hour. With an error it returns
// the events before it.
func (b *bench) observeAll(ctx context.Context, recorder *trainingjob.Recorder, kind event, count int) (seen []observation, err error) {
	for i := range count {
		one, err := b.observe(ctx, recorder, kind)
		if err != nil {
			return seen, fmt.Errorf("%s, %d of %d: %w", kind.name, i+1, count, err)
		}
		meanwhile := ""
		if one.slowdown > 0 {
			meanwhile = fmt.Sprintf(", steps meanwhile %.2f times as long", one.slowdown)
		}
		fmt.Fprintf(os.Stderr, "%s%s, %d of %d: step after %.2f s, stopped for %.2f s, %.0f steps lost%s: %+v\n", b.name, kind.name, i+1,
			count, one.untilStep, one.stopped, one.lost, meanwhile, one.history)
		seen = append(seen, one)
	}
	return seen, nil
}

func (b *bench) kinds() []event {
	var node string
	victim := func(ctx context.Context) (err error) {
		node, err = b.nodeOfJob(ctx, victimPool)
		return err
	}
	add := func(ctx context.Context) error {
		_, err := b.cluster.Add(ctx, victimPool)
		return err
	}
	return []event{
		{newNode, func(ctx context.Context) error {
			return add(ctx)
		}, nil},
		{withNotice, func(ctx context.Context) error {
			if err := victim(ctx); err != nil {
				return err
			}
			go b.cluster.Preempt(ctx, node, b.notice) // what becomes of it is seen in the job
			return nil
		}, add},
		{killed, func(ctx context.Context) error {
			if err := victim(ctx); err != nil {
				return err
			}
			return b.cluster.Kill(ctx, node)
		}, func(ctx context.Context) error {
			if err := b.cluster.Delete(ctx, node); err != nil {
				return err
			}
			return add(ctx)
		}},
		{frozen, func(ctx context.Context) error {
			if err := victim(ctx); err != nil {
				return err
			}
			return b.cluster.Freeze(ctx, node)
		}, func(ctx context.Context) error {
			if err := b.cluster.Delete(ctx, node); err != nil {
				return err
			}
			return add(ctx)
		}},
	}
}

// observe lets one event happen to a job that has settled, and tells what became of it.
func (b *bench) observe(ctx context.Context, recorder *trainingjob.Recorder, kind event) (seen observation, err error) {
	before, err := b.settled(ctx)
	if err != nil {
		return seen, err
	}
	if kind.after == nil { // what is measured is that a node comes: one has to be missing
		if before, err = b.without(ctx); err != nil {
			return seen, err
		}
	}
	began := time.Now()
	if err := kind.happens(ctx); err != nil {
		return seen, err
	}
	first, last, err := b.awaitStep(ctx, recorder, before.Status.Plan.Generation)
	if err != nil {
		return seen, err
	}
	seen.untilStep, seen.stopped = first.Time.Sub(began).Seconds(), first.Time.Sub(last.Time).Seconds()
	after, err := b.until(ctx, func(job trainingjob.Job) bool {
		rescales := job.Status.Rescales
		return len(rescales) > 0 && rescales[len(rescales)-1].ToGeneration >= first.Generation && rescales[len(rescales)-1].Seconds != ""
	})
	if err != nil {
		return seen, err
	}
	seen.history = after.Status.Rescales[len(after.Status.Rescales)-1]
	seen.lost = float64(seen.history.StepsLost)
	seen.slowdown = slowdownOf(recorder, began, last.Time, seen.history)
	if kind.after == nil {
		return seen, nil
	}
	if err := kind.after(ctx); err != nil {
		return seen, err
	}
	_, err = b.until(ctx, func(job trainingjob.Job) bool {
		return job.Status.Plan.TotalGPUs >= before.Status.Plan.TotalGPUs && job.Is("Running")
	})
	return seen, err
}

// slowdownOf compares the steps while state was streamed, the part "push" of the change before training stopped, with those before
// the event.
func slowdownOf(recorder *trainingjob.Recorder, event, stop time.Time, change trainingjob.Rescale) float64 {
	push := time.Duration(trainingjob.Decimal(change.Parts.Push) * float64(time.Second))
	before, meanwhile := recorder.MeanStep(time.Time{}, event), recorder.MeanStep(stop.Add(-push), stop)
	if before == 0 {
		return 0
	}
	return meanwhile.Seconds() / before.Seconds()
}

// settled waits until the newest plan has done a few steps.
func (b *bench) settled(ctx context.Context) (trainingjob.Job, error) {
	var generation, began int64
	return b.until(ctx, func(job trainingjob.Job) bool {
		progress := job.Status.Progress
		if job.Status.Plan.Generation != generation {
			generation, began = job.Status.Plan.Generation, progress.Step
		}
		return job.Is("Running") && !job.Is("Rescaling") && progress.Step >= began+settledSteps
	})
}

// without takes a node away, and waits until the job has settled without it and the node is gone.
func (b *bench) without(ctx context.Context) (trainingjob.Job, error) {
	node, err := b.nodeOfJob(ctx, victimPool)
	if err != nil {
		return trainingjob.Job{}, err
	}
	if err := b.cluster.Preempt(ctx, node, b.notice); err != nil {
		return trainingjob.Job{}, err
	}
	return b.settled(ctx)
}

func (b *bench) awaitStep(ctx context.Context, recorder *trainingjob.Recorder, after int64) (first, last trainingjob.Sample, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.patience, fmt.Errorf("no step of a generation after %d within %s", after, b.patience))
	defer cancel()
	tick := time.NewTicker(lookForStep)
	defer tick.Stop()
	for {
		if first, last, seen := recorder.FirstStep(after); seen {
			return first, last, nil
		}
		select {
		case <-ctx.Done():
			return first, last, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func sorted(seen []observation, value func(observation) float64) []float64 {
	values := make([]float64, 0, len(seen))
	for _, one := range seen {
		values = append(values, value(one))
	}
	slices.Sort(values)
	return values
}

func median(values []float64) float64 { return values[(len(values)-1)/2] }

func (b *bench) summarize(kind event, seen []observation) (rows []row) {
	for _, quantity := range []struct {
		what, unit string
		value      func(observation) float64
	}{
		{"to the first step", "s", func(o observation) float64 { return o.untilStep }},
		{"training stops", "s", func(o observation) float64 { return o.stopped }},
		{"steps lost", "", func(o observation) float64 { return o.lost }},
		{slowdown, "times as long", func(o observation) float64 { return o.slowdown }},
		{"state moved in the stop", "of all that moved", func(o observation) float64 { return o.history.ShareMovedInTheStop() }},
	} {
		values := sorted(seen, quantity.value)
		if quantity.what == slowdown && (kind.name != newNode || values[len(values)-1] == 0) {
			continue // otherwise hardly a step ends while state is streamed
		}
		name := fmt.Sprintf("%s%s, %d times: %s", b.name, kind.name, len(seen), quantity.what)
		worst := row{name + ", worst", values[len(values)-1], quantity.unit, nil}
		if goal, has := b.goals.limits[kind.name][quantity.what]; has {
			if b.goals.stepsAside && quantity.unit == "s" {
				goal += longestFirstStep(seen)
			}
			worst.Goal = &goal
		}
		rows = append(rows, row{name + ", median", median(values), quantity.unit, nil}, worst)
	}
	return rows
}

func longestFirstStep(seen []observation) float64 {
	values := sorted(seen, func(o observation) float64 { return trainingjob.Decimal(o.history.Parts.FirstStep) })
	return values[len(values)-1]
}

// parts are the medians of what the operator says that the seconds were spent on.
func (b *bench) parts(kind event, seen []observation) (rows []row) {
	for _, part := range []struct {
		name string
		text func(trainingjob.Parts) string
	}{
		{"detect", func(p trainingjob.Parts) string { return p.Detect }},
		{"plan", func(p trainingjob.Parts) string { return p.Plan }},
		{"pods", func(p trainingjob.Parts) string { return p.Pods }},
		{"push", func(p trainingjob.Parts) string { return p.Push }},
		{"regroup", func(p trainingjob.Parts) string { return p.Regroup }},
		{"transfer", func(p trainingjob.Parts) string { return p.Transfer }},
		{"first step", func(p trainingjob.Parts) string { return p.FirstStep }},
	} {
		values := sorted(seen, func(o observation) float64 { return trainingjob.Decimal(part.text(o.history.Parts)) })
		rows = append(rows, row{fmt.Sprintf("%s%s: of that %s, median", b.name, kind.name, part.name), median(values), "s", nil})
	}
	return rows
}

// restarts measures the alternatives to a rescale: all pods start again from the last checkpoint, and our mode Restart.
func (b *bench) restarts(ctx context.Context) ([]row, error) {
	if os.Getenv("SAILOR_BENCH_ONLY") != "" {
		return nil, nil
	}
	recorder := trainingjob.Record(ctx, b.cluster.Kubernetes, "default", b.spec.Name, b.interval)
	everyPod := event{"for comparison, every pod restarts", func(ctx context.Context) error {
		return b.cluster.Kubernetes.CoreV1().Pods("default").DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)},
			metav1.ListOptions{LabelSelector: b.pods()})
	}, func(context.Context) error { return nil }}
	rows, err := b.compare(ctx, recorder, everyPod)
	if err != nil {
		return rows, err
	}
	if _, err := b.cluster.Kubectl(ctx, "patch", "tj", b.spec.Name, "--type=merge", "-p", `{"spec": {"elasticity": {"mode": "Restart"}}}`); err != nil {
		return rows, err
	}
	for _, kind := range b.kinds()[:2] {
		kind.name = "for comparison, mode Restart: " + kind.name
		more, err := b.compare(ctx, recorder, kind)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (b *bench) compare(ctx context.Context, recorder *trainingjob.Recorder, kind event) ([]row, error) {
	seen, err := b.observeAll(ctx, recorder, kind, min(comparisons, b.eventCount()))
	if len(seen) == 0 {
		return nil, err
	}
	return b.summarize(kind, seen), err
}
