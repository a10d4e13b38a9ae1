package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

// PodsOfJob is how many pods a job has: its nodes have one GPU each.
const PodsOfJob = 4

// Training is a job that uses four GPUs, for ever if steps is trainingjob.Endless.
func Training(name string, steps int) trainingjob.Small {
	return trainingjob.Small{Name: name, Steps: steps, Resources: fmt.Sprintf("{accelerators: [%s], maxGpus: %d}", accelerator, PodsOfJob)}
}

// Waiting is a job for which there are no nodes.
func Waiting(name string) trainingjob.Small {
	return trainingjob.Small{Name: name, Steps: trainingjob.Endless, Resources: "{accelerators: [nvidia-tesla-t4]}"}
}

// Suspended is a job that shall not run yet.
func Suspended(name string) trainingjob.Small {
	job := Training(name, trainingjob.Endless)
	job.Extra = "  suspend: true"
	return job
}

// Create makes the jobs of the numbers from first on, several at a time.
func (f *Fleet) Create(ctx context.Context, first, count int, job func(i int) trainingjob.Small) error {
	jobs := f.objects.Resource(trainingjob.Resource).Namespace(Namespace)
	return eachOf(count, clientsAtOnce, func(i int) error {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(job(first+i).Manifest()), &object.Object); err != nil {
			return err
		}
		_, err := jobs.Create(ctx, object, metav1.CreateOptions{})
		return err
	})
}

// JobName is the name of a training job.
func JobName(i int) string { return fmt.Sprintf("train-%d", i) }

// Trainings is the training job of a number, for Create.
func Trainings(i int) trainingjob.Small { return Training(JobName(i), trainingjob.Endless) }

// Begun is what it took to start jobs.
type Begun struct {
	Took     time.Duration // from the first creation until all are Running
	Counters Counters      // of the operator meanwhile
	CPU      time.Duration // of the operator
}

// Begin creates training jobs and waits until they are Running.
func (f *Fleet) Begin(ctx context.Context, first, count int) (begun Begun, err error) {
	before, err := f.Counters(ctx)
	if err != nil {
		return begun, err
	}
	usage, err := f.Usage()
	if err != nil {
		return begun, err
	}
	already := f.Jobs.InState("Running")
	began := time.Now()
	if err := f.Create(ctx, first, count, Trainings); err != nil {
		return begun, err
	}
	if err := f.Jobs.UntilState(ctx, "Running", already+count); err != nil {
		return begun, err
	}
	begun.Took = time.Since(began)
	after, err := f.Counters(ctx)
	if err != nil {
		return begun, err
	}
	begun.Counters = after.Since(before)
	now, err := f.Usage()
	begun.CPU = now.CPU - usage.CPU
	return begun, err
}

// AtRest makes as many suspended, waiting and ended jobs each, waits until nothing happens any more, and returns what the operator asks of the
// API server in a time in which nothing happens.
func (f *Fleet) AtRest(ctx context.Context, each int, length time.Duration) (Counters, error) {
	kinds := []struct {
		state string
		job   func(i int) trainingjob.Small
	}{
		{"Suspended", func(i int) trainingjob.Small { return Suspended(fmt.Sprintf("suspended-%d", i)) }},
		{"Waiting", func(i int) trainingjob.Small { return Waiting(fmt.Sprintf("waiting-%d", i)) }},
		{"Complete", func(i int) trainingjob.Small { return Training(fmt.Sprintf("ended-%d", i), 4) }},
	}
	for _, kind := range kinds {
		if err := f.Create(ctx, 0, each, kind.job); err != nil {
			return Counters{}, err
		}
	}
	for _, kind := range kinds {
		if err := f.Jobs.UntilState(ctx, kind.state, each); err != nil {
			return Counters{}, err
		}
	}
	before, err := f.settled(ctx)
	if err != nil {
		return Counters{}, err
	}
	select {
	case <-time.After(length):
	case <-ctx.Done():
		return Counters{}, context.Cause(ctx)
	}
	after, err := f.Counters(ctx)
	return after.Since(before), err
}

const quiet = 3 * time.Second // the operator's slowest reaction to an event takes less

// settled returns when the operator has written nothing for a while.
func (f *Fleet) settled(ctx context.Context) (last Counters, err error) {
	since := time.Now()
	err = testcluster.Await(ctx, "the operator to have nothing to do", func(ctx context.Context) (bool, error) {
		now, err := f.Counters(ctx)
		if err != nil {
			return false, err
		}
		if now.writes() != last.writes() || now.Waiting > 0 {
			last, since = now, time.Now()
		}
		return time.Since(since) > quiet, nil
	})
	return last, err
}

func (c Counters) writes() float64 { return c.Sum("POST", "PUT", "PATCH", "DELETE") }

// Writes is the number of requests that change something.
func (c Counters) Writes() float64 { return c.writes() }

// Notices announces the end of one node of each job, one after the other, and returns how long it took each time until the API server told of
// the record with which the operator begins the change.
func (f *Fleet) Notices(ctx context.Context, jobs []string) (times []time.Duration, err error) {
	for _, job := range jobs {
		took, err := f.notice(ctx, job)
		if err != nil {
			return times, fmt.Errorf("the notice of a node of job %s: %w", job, err)
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times, nil
}

func (f *Fleet) notice(ctx context.Context, job string) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("not answered within a minute; the jobs are %v", f.Jobs.States()))
	defer cancel()
	node := f.kubelet.nodeOf(job)
	if node == "" {
		return 0, fmt.Errorf("job %s has no pod on a node", job)
	}
	before := f.Jobs.recordOf(job).generation
	began, err := f.Announce(ctx, node)
	if err != nil {
		return 0, err
	}
	if err := f.Jobs.until(ctx, func() bool { return f.Jobs.recordOf(job).generation > before }); err != nil {
		return 0, err
	}
	answered := f.Jobs.recordOf(job)
	err = f.Jobs.until(ctx, func() bool { return f.Jobs.runsIn(job, answered.generation) })
	return answered.at.Sub(began), err
}

// ColdStart starts the operator anew, and returns how long its process took until it had asked every agent and looked at every job.
func (f *Fleet) ColdStart(ctx context.Context) (time.Duration, error) {
	if err := f.Scale(ctx, 0); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := f.Scale(ctx, 1); err != nil {
		return 0, err
	}
	var done time.Time
	err := testcluster.Await(ctx, "the operator to ask every agent", func(context.Context) (bool, error) {
		done = time.Now()
		return f.Agents.NotAskedSince(began) == 0, nil
	})
	if err != nil {
		return 0, err
	}
	counters, err := f.Counters(ctx)
	return done.Sub(counters.Started), err
}

// Percentile of sorted times.
func Percentile(times []time.Duration, share float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[min(len(times)-1, int(share*float64(len(times))))]
}
