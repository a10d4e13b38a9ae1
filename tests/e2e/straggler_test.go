package e2e

import (
	"strings"
	"testing"

	"sailor.dev/tests/trainingjob"
)

func isStraggler(job trainingjob.Job) bool {
	return job.Is("Degraded") && job.Condition("Degraded").Reason == "Straggler"
}

func slow(t *testing.T, node string, factor float64) {
	t.Helper()
	if err := cluster.Slow(testContext(t), node, factor); err != nil {
		t.Fatal(err)
	}
}

func nodesOfPool(t *testing.T, pool string) (names []string) {
	t.Helper()
	nodes, err := cluster.Nodes(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		if node.Pool == pool {
			names = append(names, node.Name)
		}
	}
	return names
}

func TestASlowGpuGetsLessWorkUntilItHasRecoveredAndNoStepIsLost(t *testing.T) {
	if _, err := cluster.KubectlWithInput(testContext(t), trainingjob.StragglingProfile(), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	// From the start all GPUs are slow, because a slow one is as fast on a busy machine as on an idle one.
	const usually = 2
	for _, node := range nodesOfPool(t, "t4-spot") {
		slow(t, node, usually)
		t.Cleanup(func() { slow(t, node, 1) })
	}
	w := start(t, trainingjob.Straggling("straggler", 2))
	before := w.until("its usual speed is known", func(job trainingjob.Job) bool { return trains(job, 0) && job.Status.Progress.Step > 25 })
	if before.Status.Plan.TotalGPUs != 2 {
		t.Fatalf("the job has %d GPUs, not 2", before.Status.Plan.TotalGPUs)
	}
	node := w.nodeOfJob("t4-spot")
	slow(t, node, 4*usually)
	seen := w.until("it says which GPU is slow", isStraggler)
	if message := seen.Condition("Degraded").Message; !contains(message, "GPU 0 of node "+node+" takes ") {
		t.Errorf("the condition says %q", message)
	}
	second := w.until("it trains by a plan for that", func(job trainingjob.Job) bool {
		return trains(job, before.Status.Plan.Generation) && job.NewestRescale().Seconds != ""
	})
	if change := second.NewestRescale(); change.Reason != "Straggler" && change.Reason != "StragglerEvicted" || change.StepsLost != 0 {
		t.Errorf("the change was %+v", change)
	}
	slow(t, node, usually)
	back := w.until("the GPU has its share again", func(job trainingjob.Job) bool {
		return trains(job, second.Status.Plan.Generation) && job.NewestRescale().Seconds != "" && !job.Is("Degraded")
	})
	if progress := back.Status.Progress; progress.StepsLost != 0 || back.Status.Plan.TotalGPUs != 2 {
		t.Errorf("%d steps were lost, and it has %d GPUs", progress.StepsLost, back.Status.Plan.TotalGPUs)
	}
	events, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "get", "events", "-o", "jsonpath={range .items[*]}{.reason}: {.message}{\"\\n\"}{end}")
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"Straggler: GPU 0 of node " + node, "StragglerRecovered: GPU 0 of node " + node} {
		if !strings.Contains(events, event) {
			t.Errorf("no event begins with %q:\n%s", event, events)
		}
	}
}
