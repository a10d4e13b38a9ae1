package e2e

import (
	"testing"
	"time"

	"sailor.dev/tests/trainingjob"
)

func TestElasticityRestartStartsAgainWithNewPods(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "restart", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t), Extra: "  elasticity: {mode: Restart}"})
	before := w.untilTraining()
	old, err := w.pods(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), 15*time.Second); err != nil {
		t.Fatal(err)
	}
	after := w.until("it trains again", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if after.Status.Plan.TotalGPUs >= before.Status.Plan.TotalGPUs {
		t.Errorf("it has %d GPUs after %d", after.Status.Plan.TotalGPUs, before.Status.Plan.TotalGPUs)
	}
	pods, err := w.pods(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		for _, earlier := range old {
			if pod.UID == earlier.UID && pod.DeletionTimestamp == nil {
				t.Errorf("pod %s was not replaced", pod.Name)
			}
		}
	}
}

func TestElasticityOffKeepsItsPlanAndWaitsForItsGPUs(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "fixed", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t), Extra: `  elasticity: {mode: "Off"}`})
	before := w.untilTraining()
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), 15*time.Second); err != nil {
		t.Fatal(err)
	}
	w.until("it waits for the GPUs of its plan", func(job trainingjob.Job) bool {
		planned := job.Condition("Planned")
		return planned.Reason == "WaitingForCapacity" && contains(planned.Message, "elasticity Off keeps the first plan")
	})
	w.giveBack("l4-spot")
	after := w.until("it trains again", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if after.Status.Plan.Hash != before.Status.Plan.Hash {
		t.Errorf("it trains with the plan %s, not with %s", after.Status.Plan.Hash, before.Status.Plan.Hash)
	}
	if after.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost in spite of the notice", after.Status.Progress.StepsLost)
	}
}
