package e2e

import (
	"testing"
	"time"

	"sailor.dev/tests/trainingjob"
)

func TestAPreemptedNodeCostsNoStepAndItsReplacementIsUsed(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "preempt", Steps: trainingjob.Endless, Resources: "{minGpus: 1}"})
	before := w.untilTraining()
	node := w.nodeOfJob("l4-spot")
	if err := cluster.Preempt(w.ctx, node, 15*time.Second); err != nil {
		t.Fatal(err)
	}
	after := w.until("it continues without the node", func(job trainingjob.Job) bool {
		return trains(job, before.Status.Plan.Generation) && job.Status.Plan.TotalGPUs < before.Status.Plan.TotalGPUs
	})
	if after.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost in spite of the notice", after.Status.Progress.StepsLost)
	}
	if after.Status.Progress.Step < before.Status.Progress.Step {
		t.Errorf("it went from step %d back to %d", before.Status.Progress.Step, after.Status.Progress.Step)
	}
	w.giveBack("l4-spot")
	used := w.until("it uses the new node", func(job trainingjob.Job) bool {
		return trains(job, after.Status.Plan.Generation) && job.Status.Plan.TotalGPUs == before.Status.Plan.TotalGPUs && job.NewestRescale().Seconds != ""
	})
	if used.NewestRescale().FollowedBytes == 0 { // whether more state moves during the pause depends on the plans
		t.Error("the joining workers received none of their state before training paused for them")
	}
}

// A step takes longer than the notice, so it is dropped.
func TestANoticeInALongStepLosesNoCompletedStep(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "notice", Steps: trainingjob.Endless, Batch: 2048, Resources: "{minGpus: 1}"})
	before := w.until("a step is completed", func(job trainingjob.Job) bool { return job.Status.Progress.Step > 0 })
	node := w.nodeOfJob("l4-spot")
	if err := cluster.Preempt(w.ctx, node, 15*time.Second); err != nil {
		t.Fatal(err)
	}
	after := w.until("it continues without the node", func(job trainingjob.Job) bool {
		return job.Status.Plan.Generation > before.Status.Plan.Generation && job.NewestRescale().Seconds != ""
	})
	change := after.NewestRescale()
	t.Logf("the change was %+v", change)
	if after.Status.Progress.Step < before.Status.Progress.Step {
		t.Errorf("it went from step %d back to %d", before.Status.Progress.Step, after.Status.Progress.Step)
	}
	if change.StepsLost > 1 {
		t.Errorf("%d steps were lost, not only the one in flight", change.StepsLost)
	}
}

func TestPodsThatLeaveForAnotherZoneTrainUntilTheirSuccessorsHaveTheState(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "move", Steps: trainingjob.Endless, Resources: "{zones: [us-central1-a]}"})
	before := w.untilTraining()
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "patch", "tj", w.job, "--type=merge", "-p",
		`{"spec": {"resources": {"zones": ["us-central1-b"]}}}`); err != nil {
		t.Fatal(err)
	}
	after := w.until("it trains in the other zone", func(job trainingjob.Job) bool {
		return trains(job, before.Status.Plan.Generation) && job.NewestRescale().Seconds != ""
	})
	change := after.NewestRescale()
	if change.Reason != "SpecChanged" || change.StepsLost != 0 {
		t.Errorf("the change was %+v", change)
	}
	if change.FollowedBytes == 0 || change.MovedBytes != 0 {
		t.Errorf("%d bytes moved before training paused, %d during the pause", change.FollowedBytes, change.MovedBytes)
	}
	w.nodeOfJob("l4-spot")
}

func TestANodeKilledWithoutNoticeIsAnsweredByANewPlan(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "kill", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t)})
	before := w.until("it has a checkpoint", func(job trainingjob.Job) bool { return job.Status.Progress.LastCheckpointStep > 0 })
	node := w.nodeOfJob("l4-spot")
	if err := cluster.Kill(w.ctx, node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Kubernetes still takes it for ready
		if err := cluster.Delete(testContext(t), node); err != nil {
			t.Error(err)
		}
	})
	after := w.until("it continues without the node", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if after.Status.Restarts != 0 {
		t.Errorf("the loss of a node was counted as %d failures of the trainer", after.Status.Restarts)
	}
	w.until("steps are completed", func(job trainingjob.Job) bool { return job.Status.Progress.Step > after.Status.Progress.Step+5 })
}

func TestAnOperatorThatIsKilledFindsItsJobTraining(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "operator", Steps: trainingjob.Endless})
	before := w.untilTraining()
	if _, err := cluster.Kubectl(w.ctx, "-n", "sailor-system", "delete", "pods", "--all", "--grace-period=0", "--force"); err != nil {
		t.Fatal(err)
	}
	after := w.until("progress is reported again", func(job trainingjob.Job) bool { return job.Status.Progress.Step > before.Status.Progress.Step+20 })
	w.mustHaveKeptItsPlan(before, after)
}

func TestAJobWaitsForCapacityAndStartsWhenItComes(t *testing.T) {
	if err := cluster.Delete(testContext(t), "l4-spot-0"); err != nil {
		t.Fatal(err)
	}
	w := start(t, trainingjob.Small{Name: "capacity", Steps: trainingjob.Endless, Resources: "{accelerators: [nvidia-l4], zones: [us-central1-b], minGpus: 2}"})
	waiting := w.until("it says that it waits", func(job trainingjob.Job) bool {
		planned := job.Condition("Planned")
		return planned.Status == "False" && (planned.Reason == "WaitingForCapacity" || planned.Reason == "PlanInfeasible")
	})
	if waiting.Condition("Planned").Message == "" {
		t.Error("it does not say what it waits for")
	}
	w.giveBack("l4-spot")
	w.untilTraining()
}

func TestUnreadableDataEndsTheJobWithTheReason(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "data", Steps: trainingjob.Endless, Data: "/nowhere/*.txt", Extra: "  maxRestarts: 1"})
	job := w.until("it has failed", func(job trainingjob.Job) bool { return job.Is("Failed") })
	if message := job.Condition("Failed").Message; !contains(message, "/nowhere/*.txt") {
		t.Errorf("the condition does not name the path: %q", message)
	}
	if job.Status.Restarts != 1 {
		t.Errorf("%d restarts were counted, 1 was allowed", job.Status.Restarts)
	}
	w.untilNoPodRuns() // ended pods stay, for their logs
}

func (w *world) giveBack(pool string) {
	w.t.Helper()
	if _, err := cluster.Add(w.ctx, pool); err != nil {
		w.t.Fatal(err)
	}
}
