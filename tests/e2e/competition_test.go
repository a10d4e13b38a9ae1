package e2e

import (
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/trainingjob"
)

// priorityClasses makes the classes e2e-low and e2e-high, which go when the test ends.
func priorityClasses(t *testing.T) {
	t.Helper()
	classes := cluster.Kubernetes.SchedulingV1().PriorityClasses()
	for name, value := range map[string]int32{"e2e-low": 10, "e2e-high": 1000} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if _, err := classes.Create(testContext(t), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := classes.Delete(testContext(t), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func (w *world) delete() {
	w.t.Helper()
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job); err != nil {
		w.t.Fatal(err)
	}
}

func TestAJobShrinksForOneOfHigherPriorityAndGrowsAgain(t *testing.T) {
	priorityClasses(t)
	low := start(t, trainingjob.Small{Name: "low", Steps: trainingjob.Endless, Resources: "{minGpus: 2}", Extra: "  priorityClassName: e2e-low"})
	before := low.untilTraining()
	high := start(t, trainingjob.Small{Name: "high", Steps: trainingjob.Endless, Resources: "{accelerators: [nvidia-l4], minGpus: 2, maxGpus: 2}", Extra: "  priorityClassName: e2e-high"})
	high.untilTraining()
	shrunk := low.until("it trains on fewer GPUs", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if now, then := shrunk.Status.Plan.TotalGPUs, before.Status.Plan.TotalGPUs; now < 2 || now > then-2 {
		t.Errorf("it trains on %d GPUs of %d; it gives 2 and keeps 2", now, then)
	}
	if rescale := shrunk.NewestRescale(); rescale.Reason != "Preempted" || !contains(rescale.Message, "e2e-high/high of priority 1000") {
		t.Errorf("its history says %q: %q", rescale.Reason, rescale.Message)
	}
	high.delete()
	grown := low.until("it has all GPUs again", func(job trainingjob.Job) bool {
		return job.Status.Plan.TotalGPUs == before.Status.Plan.TotalGPUs && trains(job, shrunk.Status.Plan.Generation)
	})
	if grown.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost", grown.Status.Progress.StepsLost)
	}
}

func TestAJobIsSuspendedForOneOfHigherPriorityAndGoesOn(t *testing.T) {
	priorityClasses(t)
	spec := trainingjob.Small{Name: "suspended", Steps: trainingjob.Endless, Resources: "{accelerators: [nvidia-l4], minGpus: 2, maxGpus: 2}",
		Checkpoint: temporaryFolder(t), Extra: "  priorityClassName: e2e-low"}
	low := start(t, spec)
	before := low.untilTraining()
	high := start(t, trainingjob.Small{Name: "urgent", Steps: trainingjob.Endless, Resources: "{accelerators: [nvidia-l4], minGpus: 4}", Extra: "  priorityClassName: e2e-high"})
	high.untilTraining()
	waiting := low.until("it waits", func(job trainingjob.Job) bool { return job.Condition("Planned").Reason == "WaitingForCapacity" })
	if message := waiting.Condition("Planned").Message; !contains(message, "job e2e-urgent/urgent (priority 1000)") {
		t.Errorf("it does not say who has the GPUs: %q", message)
	}
	high.delete()
	after := low.until("it trains again", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if after.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost", after.Status.Progress.StepsLost)
	}
}
