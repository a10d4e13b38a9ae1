package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/storm"
	"sailor.dev/tests/trainingjob"
)

const (
	stormSeed = 1 // the default; SAILOR_TEST_SEED sets another number, as in `make test-all`
	// Learns so that rounding errors fade instead of growing: undisturbed jobs on one GPU and on eight differ by 4e-8.
	steadily        = `{learningRate: "3e-4", warmupSteps: 50, clipNorm: "1"}`
	lossTolerance   = 1e-4 // relative, at every step
	descriptorsKept = 16   // so many more open files than before do not count as a leak, because connections come and go
	memoryKept      = 1.5  // so many times the memory as before does not count as a leak either
)

// number returns the value of a variable of the environment, or the default where the variable is not set.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func TestAJobUnderRandomEventsLearnsWhatAnUndisturbedOneDoes(t *testing.T) {
	events, seed := number(t, "SAILOR_STORM_EVENTS", stormEvents), number(t, "SAILOR_TEST_SEED", stormSeed)
	t.Logf("to repeat: SAILOR_STORM_EVENTS=%d SAILOR_TEST_SEED=%d go test -run=%s ./e2e", events, seed, t.Name())
	options := storm.Options{Events: int(events), Seed: seed, Frozen: 8 * time.Second, Grace: 5 * time.Second, Longest: 2 * time.Second}
	stormy{
		job:    trainingjob.Small{Name: "storm", Steps: trainingjob.Endless, Optimizer: steadily},
		events: int(events), perEvent: 6 * time.Second, perStep: time.Second, settles: oneChange, interval: trainingjob.ShortSteps,
	}.run(t, func(w *world) func(trainingjob.Job) { return w.hitNodes(options, "") })
}

// stormy is a job that trains during a storm, and what is expected of it.
type stormy struct {
	job      trainingjob.Small
	events   int
	perEvent time.Duration // the longest time that an event takes, on average
	perStep  time.Duration // the longest time that a step of the undisturbed job takes, on average
	settles  time.Duration // the longest time until all nodes are used again
	interval time.Duration // of looks for new steps
}

// run compares the losses of the job while disturb runs with those of the same job undisturbed. What disturb returns checks the job
// afterwards.
func (s stormy) run(t *testing.T, disturb func(*world) func(after trainingjob.Job)) {
	t.Helper()
	s.job.Checkpoint = temporaryFolder(t)
	w := start(t, s.job)
	w.allow(time.Duration(s.events)*s.perEvent + patience)
	recorder := trainingjob.Record(w.ctx, cluster.Kubernetes, w.namespace, w.job, s.interval)
	before := w.untilTraining()
	check := disturb(w)
	seen := w.present().Status.Progress.Step
	after := w.untilWithin(s.settles, "it does steps on all nodes", func(job trainingjob.Job) bool {
		return trains(job, 0) && job.Status.Plan.TotalGPUs == before.Status.Plan.TotalGPUs && job.Status.Progress.Step > seen+2
	})
	t.Logf("generation %d, step %d, %d steps lost", after.Status.Plan.Generation, after.Status.Progress.Step, after.Status.Progress.StepsLost)
	check(after)
	curve, repeated := recorder.Curve()
	if repeated > lossTolerance {
		t.Errorf("a step that was done twice had losses that differ by %g", repeated)
	}
	w.finish()
	s.expectSameCurve(t, curve)
}

// hitNodes is a storm over the nodes of the pools whose names begin like this.
func (w *world) hitNodes(options storm.Options, pools string) func(after trainingjob.Job) {
	w.t.Helper()
	operator := w.onlyProcess("sailor-operator")
	counts, err := storm.Run(w.ctx, cluster, w.storm(options, pools))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Log(counts)
	return func(after trainingjob.Job) {
		if after.Status.Restarts != 0 {
			w.t.Errorf("%d losses of nodes were counted as failures of the trainer", after.Status.Restarts)
		}
		w.expectNoLeak(operator, after.Status.Plan.TotalGPUs)
	}
}

// storm may hit every node of these pools, but leaves one of them alone at any moment.
func (w *world) storm(options storm.Options, pools string) storm.Options {
	w.t.Helper()
	nodes, err := cluster.Nodes(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	options.Keep, options.Pools, options.Say, options.AwaitReady = 1, map[string]string{}, w.t.Logf, awaitNode
	for _, node := range nodes {
		if node.Pool != "system" && strings.HasPrefix(node.Pool, pools) {
			options.Nodes = append(options.Nodes, node.Name)
			options.Pools[node.Name] = node.Pool
		}
	}
	if len(options.Nodes) <= options.Keep {
		w.t.Fatalf("no event can hit one of the nodes %v, because %d of them must stay", options.Nodes, options.Keep)
	}
	return options
}

func awaitNode(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return testcluster.Await(ctx, "node "+name, func(ctx context.Context) (bool, error) {
		node, err := cluster.Kubernetes.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		}), nil
	})
}

func program(t *testing.T, name string) string {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "build", "bin", name)
}

func (w *world) processes(name string) []storm.Process {
	w.t.Helper()
	found, err := storm.Processes(program(w.t, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func (w *world) onlyProcess(name string) storm.Process {
	w.t.Helper()
	found := w.processes(name)
	if len(found) != 1 {
		w.t.Fatalf("%d processes of %s run, 1 was expected", len(found), name)
	}
	return found[0]
}

// expectNoLeak compares the operator with itself before the storm, and the trainers with each other: one that lived through
// all events must not have many more open files than one that has just started.
func (w *world) expectNoLeak(before storm.Process, gpus int) {
	w.t.Helper()
	after := w.onlyProcess("sailor-operator")
	w.t.Logf("the operator went from %+v to %+v", before, after)
	if after.PID != before.PID {
		w.t.Errorf("the operator was restarted: process %d became %d", before.PID, after.PID)
	}
	if after.Descriptors > before.Descriptors+descriptorsKept || float64(after.Resident) > memoryKept*float64(before.Resident) {
		w.t.Errorf("the operator has more open files or memory than before the storm")
	}
	testcluster.Eventually(w.t, oneChange, "one worker a GPU, and no more", func(context.Context) (bool, error) {
		workers := 0
		for _, process := range w.processes("sailor-trainer") {
			if process.Kind == "worker" {
				workers++
			}
		}
		if workers != gpus {
			return false, fmt.Errorf("%d workers run for %d GPUs", workers, gpus)
		}
		return true, nil
	})
	least, most := map[string]storm.Process{}, map[string]storm.Process{}
	for _, process := range w.processes("sailor-trainer") {
		if low, seen := least[process.Kind]; !seen || process.Descriptors < low.Descriptors {
			least[process.Kind] = process
		}
		if process.Descriptors > most[process.Kind].Descriptors {
			most[process.Kind] = process
		}
	}
	for kind := range maps.Keys(least) {
		if most[kind].Descriptors > 2*least[kind].Descriptors+descriptorsKept {
			w.t.Errorf("one %s has %d open files, another %d", kind, most[kind].Descriptors, least[kind].Descriptors)
		}
	}
}

// finish removes the job, so that the next one has all GPUs.
func (w *world) finish() {
	w.t.Helper()
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job); err != nil {
		w.t.Fatal(err)
	}
	w.untilNoPods()
}

// expectSameCurve trains the same job undisturbed, on one GPU, as far as the curve goes.
func (s stormy) expectSameCurve(t *testing.T, curve trainingjob.Curve) {
	t.Helper()
	last := curve.Last()
	calm, limit := s.job, time.Duration(last)*s.perStep+oneChange
	calm.Name, calm.Steps, calm.Checkpoint, calm.Resources = "calm", int(last), "", "{maxGpus: 1}"
	w := start(t, calm)
	w.allow(limit)
	recorder := trainingjob.Record(w.ctx, cluster.Kubernetes, w.namespace, w.job, s.interval)
	w.untilWithin(limit, "it is complete", func(job trainingjob.Job) bool { return job.Is("Complete") })
	reference, _ := recorder.Curve()
	common, worst, difference := curve.Compare(reference)
	t.Logf("%d of %d steps compared; the losses differ most at step %d, by %.2g of %.6f", common, last, worst, difference, reference[worst])
	if int64(common) < last/2 {
		t.Errorf("only %d of %d steps were seen in both", common, last)
	}
	if difference > lossTolerance {
		t.Errorf("at step %d the loss is %.6f, undisturbed %.6f: %g apart", worst, curve[worst], reference[worst], difference)
	}
}

func TestJoiningPodsThatNeverBecomeReadyAreGivenUpWhileTheJobTrains(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "joining", Steps: trainingjob.Endless})
	all := w.untilTraining()
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), time.Second); err != nil {
		t.Fatal(err)
	}
	before := w.until("it trains without a node", func(job trainingjob.Job) bool { return trains(job, all.Status.Plan.Generation) })
	// No image of this name is known to the new node's kubelet: its pod waits for ever.
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "patch", "tj", w.job, "--type=merge", "-p",
		`{"spec": {"podTemplate": {"spec": {"containers": [{"name": "trainer", "image": "registry.invalid/nothing:1"}]}}}}`); err != nil {
		t.Fatal(err)
	}
	w.giveBack("l4-spot")
	waiting := w.until("it says that it waits for a pod without an image", func(job trainingjob.Job) bool {
		ready := job.Condition("PodsReady")
		return job.Is("Running") && ready.Status == "False" && strings.Contains(ready.Message, "nothing:1")
	})
	if waiting.Status.Plan.TotalGPUs != before.Status.Plan.TotalGPUs {
		t.Errorf("its plan shows %d GPUs while it trains on %d", waiting.Status.Plan.TotalGPUs, before.Status.Plan.TotalGPUs)
	}
	given := w.until("it gives the joining pod up", func(job trainingjob.Job) bool {
		rescales := job.Status.Rescales
		return len(rescales) > 0 && rescales[len(rescales)-1].Withdrawn
	})
	if given.Status.Plan.Generation != before.Status.Plan.Generation || given.Status.Plan.TotalGPUs != before.Status.Plan.TotalGPUs {
		t.Errorf("plan %d of %d GPUs trains, not %d of %d", given.Status.Plan.Generation, given.Status.Plan.TotalGPUs,
			before.Status.Plan.Generation, before.Status.Plan.TotalGPUs)
	}
	w.until("it trains on", func(job trainingjob.Job) bool { return job.Status.Progress.Step > waiting.Status.Progress.Step+10 })
	if given.Status.Restarts != 0 {
		t.Errorf("%d failures were counted", given.Status.Restarts)
	}
}

func TestAJobBelowItsMinimumWaitsWithItsStateSavedAndResumesFromThere(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "minimum", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t), Resources: "{minGpus: 8}"})
	before := w.untilTraining()
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), 15*time.Second); err != nil {
		t.Fatal(err)
	}
	waiting := w.until("it waits", func(job trainingjob.Job) bool {
		return job.Status.State == "Waiting" && job.Condition("Planned").Reason == "WaitingForCapacity"
	})
	w.untilNoPodRuns() // the pod of the node that went is deleted by Kubernetes, which may take a minute
	w.giveBack("l4-spot")
	after := w.until("it continues", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	rescales := after.Status.Rescales
	if last := rescales[len(rescales)-1]; last.Reason != "Resumed" || last.FromGPUs != 0 {
		t.Errorf("the history ends with %+v", last)
	}
	if after.Status.Progress.StepsLost > before.Status.Progress.StepsLost {
		t.Errorf("%d steps were lost in spite of the notice (it waited at step %d)", after.Status.Progress.StepsLost, waiting.Status.Progress.Step)
	}
}
