package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func TestADeletedJobLeavesNoPodEvenIfNothingOwnsItsPods(t *testing.T) {
	spec := trainingjob.Small{Name: "orphaned", Steps: trainingjob.Endless}
	w := start(t, spec)
	w.untilTraining()
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job, "--cascade=orphan"); err != nil {
		t.Fatal(err)
	}
	w.apply(spec) // at once: the record and the ConfigMap of the deleted job may still be there
	job := w.until("a new job of the same name trains", func(job trainingjob.Job) bool { return trains(job, 0) })
	if message := job.Condition("Planned").Message; contains(message, "is not the job's") {
		t.Errorf("the ConfigMap of the deleted job is in its way: %s", message)
	}
	pods, err := w.pods(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		ends := pod.DeletionTimestamp != nil
		if owner := metav1.GetControllerOf(&pod); !ends && (owner == nil || owner.UID != job.UID) {
			t.Errorf("pod %s belongs to %v, not to the new job", pod.Name, owner)
		}
	}
	w.delete()
	w.untilNoPods()
	w.untilGone("jobrecords")
}
