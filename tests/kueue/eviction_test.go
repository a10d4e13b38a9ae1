package kueue

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// release does what Kueue expects from the controller of an evicted job when the job's pods have ended. The Workload holds its quota
// until then.
func (k *Kueue) release(name string) {
	k.t.Helper()
	w, err := k.Workload(k.briefly(), team, name)
	if err != nil {
		k.t.Fatal(err)
	}
	evicted := w.Condition("Evicted")
	isQueuedAtOnce := metav1.ConditionFalse
	if evicted.Reason == "Preempted" {
		isQueuedAtOnce = metav1.ConditionTrue
	}
	k.writeStatus(w, map[string]any{"admission": nil, "reclaimablePods": nil},
		metav1.Condition{Type: "QuotaReserved", Status: metav1.ConditionFalse, Reason: "Pending", Message: evicted.Message},
		metav1.Condition{Type: "Admitted", Status: metav1.ConditionFalse, Reason: "NoReservation", Message: "The workload has no reservation"},
		metav1.Condition{Type: "Requeued", Status: isQueuedAtOnce, Reason: evicted.Reason, Message: evicted.Message})
}

// finish does what Kueue expects from the controller of a job that has ended.
func (k *Kueue) finish(name string) {
	k.t.Helper()
	w, err := k.Workload(k.briefly(), team, name)
	if err != nil {
		k.t.Fatal(err)
	}
	k.writeStatus(w, nil, metav1.Condition{Type: "Finished", Status: metav1.ConditionTrue, Reason: "Succeeded", Message: "The job has ended."})
}

// writeStatus replaces fields of the status, and adds conditions, if the Workload has not changed since it was read.
func (k *Kueue) writeStatus(w Workload, status map[string]any, conditions ...metav1.Condition) {
	k.t.Helper()
	merged := map[string]any{"conditions": withConditions(w, conditions)}
	for field, value := range status {
		merged[field] = value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": w.ResourceVersion}, "status": merged})
	if err != nil {
		k.t.Fatal(err)
	}
	_, err = k.client.Resource(workloads).Namespace(team).Patch(k.briefly(), w.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		k.t.Fatalf("%v\n%s", err, patch)
	}
}

func withConditions(w Workload, changed []metav1.Condition) (all []metav1.Condition) {
	isChanged := map[string]bool{}
	for i := range changed {
		changed[i].LastTransitionTime, changed[i].ObservedGeneration = metav1.NewTime(time.Now()), w.Generation
		isChanged[changed[i].Type] = true
	}
	for _, condition := range w.Status.Conditions {
		if !isChanged[condition.Type] {
			all = append(all, condition)
		}
	}
	return append(all, changed...)
}

// stillHolds fails the test unless a Workload holds quota.
func (k *Kueue) stillHolds(name string) {
	k.t.Helper()
	w, err := k.Workload(k.briefly(), team, name)
	if err != nil {
		k.t.Fatal(err)
	}
	if !holdsQuota(w) {
		k.t.Errorf("Kueue has taken the quota of %s before it was released: %+v", name, w.Status)
	}
}

func letsAPreemptedWorkloadHoldItsQuotaUntilItIsReleased(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 4})
	k.create(request{name: "low", gpus: 4})
	k.untilAdmitted("low")
	k.create(request{name: "high", gpus: 3, priority: 100})
	evicted := k.untilEvicted("low", "Preempted")
	if reason := evicted.Condition("Preempted").Reason; reason != "InClusterQueue" {
		t.Errorf("it was preempted because of %q", reason)
	}
	k.untilRefused("high", "Pending the preemption of 1 workload(s)")
	k.stillHolds("low")

	k.release("low")
	k.untilAdmitted("high")
	k.untilRefused("low", "insufficient unused quota")

	k.finish("high")
	if again := k.untilAdmitted("low"); again.Is("Evicted") || again.Is("Preempted") {
		t.Errorf("it is admitted and still evicted: %+v", again.Status.Conditions)
	}
}

func takesBackWhatAQueueHasBorrowed(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 2})
	k.ClusterQueue("lender", Quota{Flavor: "l4", GPUs: 2})
	k.LocalQueue(team, "lender", "lender")
	k.JoinCohort("gpus", "all")
	k.JoinCohort("lender", "all")
	k.create(request{name: "borrower", gpus: 4, priority: 100})
	k.untilAdmitted("borrower")
	k.create(request{name: "owner", gpus: 2, queue: "lender"})
	if reason := k.untilEvicted("borrower", "Preempted").Condition("Preempted").Reason; reason != "InCohortReclamation" {
		t.Errorf("it was preempted because of %q", reason)
	}
	k.release("borrower")
	k.untilAdmitted("owner")
}

func admitsWorkloadsAgainWhenTheirQueueIsResumed(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 4})
	k.create(request{name: "drained", gpus: 4})
	k.untilAdmitted("drained")
	k.StopClusterQueue("gpus")
	k.untilEvicted("drained", "ClusterQueueStopped")
	k.release("drained")
	k.untilRefused("drained", "is inactive")
	k.ResumeClusterQueue("gpus")
	k.untilAdmitted("drained")
}

func TestAWorkloadWhosePodsAreNotReadyInTimeIsEvictedAndQueuedAgain(t *testing.T) {
	k := Start(t, cluster, Options{PodsReadyTimeout: time.Second}).in(t, Quota{Flavor: "l4", GPUs: 4})
	k.create(request{name: "slow", gpus: 4})
	k.untilEvicted("slow", "PodsReadyTimeout")
	k.release("slow")
	again := k.untilAdmitted("slow")
	k.writeStatus(again, nil, metav1.Condition{Type: "PodsReady", Status: metav1.ConditionTrue, Reason: "Started", Message: "All pods run."})
	k.create(request{name: "witness", gpus: 4})
	k.untilRefused("witness", "insufficient unused quota")
	k.stillHolds("slow")
}

func takesBackTheQuotaOfReclaimablePods(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 3})
	k.create(request{name: "partial", gpus: 4, minimum: 1})
	admitted := k.untilAdmitted("partial")
	k.create(request{name: "waiting", gpus: 1})
	k.untilRefused("waiting", "insufficient unused quota")

	// They are counted from the four pods that were requested, of which three were admitted.
	k.writeStatus(admitted, map[string]any{"reclaimablePods": []map[string]any{{"name": "gpus", "count": 2}}})
	k.untilAdmitted("waiting")
	k.stillHolds("partial")
}

func letsAnOwnedWorkloadHoldItsQuotaUntilItsFinalizerIsRemoved(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 4})
	k.create(request{name: "orphan", gpus: 4, owner: "job", finalizer: resourceInUse})
	k.untilAdmitted("orphan")
	if err := cluster.Kubernetes.CoreV1().ConfigMaps(team).Delete(t.Context(), "job", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.Until(team, "orphan", "be marked for deletion", func(w Workload) bool { return w.DeletionTimestamp != nil })
	k.create(request{name: "next", gpus: 4})
	k.untilRefused("next", "insufficient unused quota")
	k.stillHolds("orphan")

	_, err := k.client.Resource(workloads).Namespace(team).Patch(t.Context(), "orphan", types.MergePatchType,
		[]byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	k.untilAdmitted("next")
	if all, err := k.Workloads(t.Context(), team); err != nil || len(all) != 1 || strings.Contains(all[0].Name, "orphan") {
		t.Errorf("left are %v (%v)", all, err)
	}
}
