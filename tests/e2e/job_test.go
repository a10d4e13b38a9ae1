package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

// world is one test's namespace and its job.
type world struct {
	t         *testing.T
	ctx       context.Context
	namespace string
	job       string
	jobs      *trainingjob.Client
}

// The limits are for what never happens. What a job does in seconds takes minutes on a slow machine that runs other tests as well.
const (
	patience  = 12 * time.Minute // for one test
	oneChange = 4 * time.Minute  // for one thing to happen
)

// start applies a job in a namespace of its own, both of which go when the test ends.
func start(t *testing.T, spec trainingjob.Small) *world {
	t.Helper()
	w := newWorld(t, spec, nil)
	w.apply(spec)
	return w
}

// newWorld makes the namespace of a job, with these labels.
func newWorld(t *testing.T, spec trainingjob.Small, labels map[string]string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, namespace: "e2e-" + spec.Name, job: spec.Name}
	var err error
	if w.jobs, err = trainingjob.NewClient(cluster.REST, w.namespace); err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: labels}}
	if _, err := cluster.Kubernetes.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	return w
}

// allow gives a test more time than others have.
func (w *world) allow(time time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), time)
	w.t.Cleanup(cancel)
	w.ctx = ctx
}

func (w *world) apply(spec trainingjob.Small) {
	w.t.Helper()
	if _, err := cluster.KubectlWithInput(w.ctx, spec.Manifest(), "-n", w.namespace, "apply", "-f", "-"); err != nil {
		w.t.Fatal(err)
	}
}

// end removes the namespace, replaces the nodes that were lost and waits until its pods are gone, so that the next test has all GPUs.
func (w *world) end() {
	ctx, cancel := context.WithTimeout(context.Background(), oneChange)
	defer cancel()
	if w.t.Failed() {
		w.tell(ctx)
	}
	if _, err := cluster.Kubectl(ctx, "-n", w.namespace, "delete", "tj", "--all", "--ignore-not-found"); err != nil {
		w.t.Error(err)
	}
	restoreNodes(ctx, w.t) // a pod on a dead node goes with its node
	testcluster.Eventually(w.t, oneChange, "the pods of "+w.namespace+" to go", func(ctx context.Context) (bool, error) {
		pods, err := w.pods(ctx)
		return len(pods) == 0, err
	})
	if err := cluster.Kubernetes.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		w.t.Error(err)
	}
}

// tell logs what a person would look at, in one message: the runner shows the last ones of a failed test.
func (w *world) tell(ctx context.Context) {
	var told strings.Builder
	for _, args := range [][]string{
		{"-n", w.namespace, "describe", "tj"},
		{"-n", w.namespace, "get", "pods", "-o", "wide"},
		{"-n", "sailor-system", "get", "pods", "-o", "wide"},
		{"get", "nodes"},
		{"-n", w.namespace, "logs", "-l", "sailor.dev/job-name=" + w.job, "--prefix", "--tail=30"},
		{"-n", "sailor-system", "logs", "deployment/sailor", "--tail=60"},
	} {
		output, err := cluster.Kubectl(ctx, args...)
		fmt.Fprintf(&told, "kubectl %s\n%s\n", strings.Join(args, " "), output)
		if err != nil {
			fmt.Fprintln(&told, err)
		}
	}
	w.t.Logf("what a person would look at:\n%s", &told)
}

func (w *world) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := cluster.Kubernetes.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// until waits for a state of the job and returns it.
func (w *world) until(what string, holds func(trainingjob.Job) bool) trainingjob.Job {
	w.t.Helper()
	return w.untilWithin(oneChange, what, holds)
}

func (w *world) untilWithin(limit time.Duration, what string, holds func(trainingjob.Job) bool) (last trainingjob.Job) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	defer cancel()
	began := time.Now()
	err := w.jobs.Until(ctx, w.job, func(job trainingjob.Job) (bool, error) {
		last = job
		return holds(job), nil
	})
	if err != nil {
		w.t.Fatalf("waiting until %s: %v; last: state %q, plan %d, step %d", what, err, last.Status.State, last.Status.Plan.Generation, last.Status.Progress.Step)
	}
	testcluster.SayIfLong(w.t, began, what)
	return last
}

// present returns the job as it is now.
func (w *world) present() trainingjob.Job {
	w.t.Helper()
	return w.until("it exists", func(trainingjob.Job) bool { return true })
}

func (w *world) untilTraining() trainingjob.Job {
	w.t.Helper()
	return w.until("it trains", func(job trainingjob.Job) bool { return trains(job, 0) })
}

// trains holds once steps were completed under a plan newer than the generation.
func trains(job trainingjob.Job, generation int64) bool {
	status := job.Status
	return status.Plan.Generation > generation && job.Is("Running") && !job.Is("Rescaling") && status.Progress.Step > 3
}

// mustHaveKeptItsPlan fails the test if the job has changed its plan, lost a step or restarted since it was as `before`. The failure lists
// the changes of plan.
func (w *world) mustHaveKeptItsPlan(before, after trainingjob.Job) {
	w.t.Helper()
	from, now := before.Status.Plan.Generation, after.Status
	if now.Plan.Generation == from && now.Progress.StepsLost == 0 && now.Restarts == before.Status.Restarts {
		return
	}
	var changes strings.Builder
	for _, change := range now.Rescales {
		if change.ToGeneration > from {
			fmt.Fprintf(&changes, "\n%s %s: plan %d with %d GPUs instead of %d: %s", change.Time.UTC().Format(time.TimeOnly), change.Reason,
				change.ToGeneration, change.ToGPUs, change.FromGPUs, change.Message)
		}
	}
	w.t.Errorf("job %s went from plan %d to %d, lost %d steps and restarted %d times%s", w.job, from, now.Plan.Generation, now.Progress.StepsLost,
		now.Restarts-before.Status.Restarts, &changes)
}

// nodeOfJob is a node that the job runs on and that is one of a node pool.
func (w *world) nodeOfJob(pool string) string {
	w.t.Helper()
	node, err := trainingjob.NodeOfPool(w.ctx, cluster.Kubernetes, w.namespace, w.job, pool)
	if err != nil {
		w.t.Fatal(err)
	}
	return node
}

// temporaryFolder returns a folder that the nodes see too, because they are this machine.
func temporaryFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "shared")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}
