package e2e

import (
	"testing"

	"sailor.dev/tests/trainingjob"
)

// The generation's number continues although nothing but the agents and the status knows it.
func TestAJobWhoseRecordIsDeletedSurvivesTheNextLoss(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "record", Steps: trainingjob.Endless, Resources: "{minGpus: 1}", Checkpoint: temporaryFolder(t)})
	before := w.untilTraining()
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "jobrecord,configmap", "-l", "sailor.dev/job-name="+w.job); err != nil {
		t.Fatal(err)
	}
	after := w.until("it trains with a new record", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if reason := after.NewestRescale().Reason; reason != "RecordLost" {
		t.Errorf("the change is explained by %q", reason)
	}
	if after.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost with the record", after.Status.Progress.StepsLost)
	}
	node := w.nodeOfJob("l4-spot")
	if err := cluster.Kill(w.ctx, node); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Kubernetes still takes it for ready
		if err := cluster.Delete(testContext(t), node); err != nil {
			t.Error(err)
		}
	})
	w.until("it continues without the node", func(job trainingjob.Job) bool { return trains(job, after.Status.Plan.Generation) })
}
