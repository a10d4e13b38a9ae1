package e2e

import (
	"context"
	"slices"
	"testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/kueue"
	"sailor.dev/tests/trainingjob"
)

// startKueue lets the operator use a Kueue with a queue for so many GPUs of type L4, until the test ends.
func startKueue(t *testing.T, gpus int) *kueue.Kueue {
	t.Helper()
	k := kueue.Start(t, cluster, kueue.Options{})
	helm(t, "upgrade", "sailor", chartFolder(t), "--reuse-values", "--set", "kueue.enabled=true", "--wait")
	t.Cleanup(func() { helm(t, "rollback", "sailor", "--wait") })
	k.ResourceFlavor("l4", map[string]string{config.LabelAccelerator: "nvidia-l4"})
	k.ClusterQueue("gpus", kueue.Quota{Flavor: "l4", GPUs: gpus})
	return k
}

func planReason(job trainingjob.Job) string { return job.Condition("Planned").Reason }

// trainsOn holds while a job trains on so many GPUs.
func trainsOn(gpus int) func(trainingjob.Job) bool {
	return func(job trainingjob.Job) bool { return trains(job, 0) && job.Status.Plan.TotalGPUs == gpus }
}

// quotas are the GPUs that the Workloads of a namespace have, as Kueue counts them.
func (w *world) quotas(k *kueue.Kueue) (gpus []int) {
	w.t.Helper()
	all, err := k.Workloads(w.ctx, w.namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, workload := range all {
		if workload.Is("QuotaReserved") {
			gpus = append(gpus, int(workload.Status.Admission.PodSetAssignments[0].Count))
		}
	}
	slices.Sort(gpus)
	return gpus
}

func TestAJobInAQueueOfKueueGrowsAndShrinksWithItsQuota(t *testing.T) {
	k := startKueue(t, 2)
	k.PriorityClass("urgent", 100)
	spec := trainingjob.Small{Name: "queued", Queue: "team", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t), Resources: "{minGpus: 2}"}
	low := start(t, spec)
	waiting := low.until("it waits for its queue", func(job trainingjob.Job) bool { return contains(job.Condition("Planned").Message, "Kueue says") })
	if message := waiting.Condition("Planned").Message; planReason(waiting) != "WaitingForQuota" || !contains(message, "LocalQueue team doesn't exist") {
		t.Errorf("without a LocalQueue it says %s: %q", planReason(waiting), message)
	}
	k.LocalQueue(low.namespace, "team", "gpus")
	low.until("it trains on its quota", trainsOn(2))

	k.ClusterQueue("gpus", kueue.Quota{Flavor: "l4", GPUs: 4})
	low.until("it trains on all GPUs", trainsOn(4))
	if quotas := low.quotas(k); !slices.Equal(quotas, []int{2, 2}) {
		t.Errorf("its Workloads have %v GPUs", quotas)
	}

	small := trainingjob.Small{Name: "urgent", Queue: "team", Priority: "urgent", Steps: trainingjob.Endless, Resources: "{minGpus: 2, maxGpus: 2}"}
	high := newWorld(t, small, nil)
	k.LocalQueue(high.namespace, "team", "gpus")
	high.apply(small)
	high.until("it trains on GPUs that Kueue took from the other job", trainsOn(2))
	shrunk := low.until("it trains on the rest", trainsOn(2))
	if rescale := shrunk.NewestRescale(); rescale.Reason != "Preempted" || !contains(rescale.Message, "Kueue takes back") {
		t.Errorf("its history says %q: %q", rescale.Reason, rescale.Message)
	}

	large := small
	large.Resources = "{minGpus: 4}"
	high.apply(large)
	high.until("it trains on all GPUs", trainsOn(4))
	low.until("it waits for its queue again", func(job trainingjob.Job) bool { return planReason(job) == "WaitingForQuota" })
	if quotas := low.quotas(k); len(quotas) != 0 {
		t.Errorf("it has no pods, and Workloads with %v GPUs", quotas)
	}

	high.delete()
	after := low.until("it trains on all GPUs again", trainsOn(4))
	if after.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost", after.Status.Progress.StepsLost)
	}
	low.delete()
	testcluster.Eventually(t, oneChange, "the Workloads to be gone", func(ctx context.Context) (bool, error) {
		all, err := k.Workloads(ctx, low.namespace)
		return len(all) == 0, err
	})
}
