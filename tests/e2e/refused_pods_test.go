package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

var restricted = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}

// untilRefused waits until the job says that a pod was refused, and returns the message of the condition. The event comes at most
// five seconds after the plan.
func (w *world) untilRefused() string {
	w.t.Helper()
	job := w.until("it says that a pod is refused", func(job trainingjob.Job) bool { return job.Condition("PodsReady").Reason == "PodRefused" })
	testcluster.Eventually(w.t, oneChange, "the event of the refusal", func(ctx context.Context) (bool, error) {
		events, err := cluster.Kubernetes.EventsV1().Events(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, event := range events.Items {
			if event.Reason != "PodRefused" {
				continue
			}
			if late := event.EventTime.Sub(job.Condition("Planned").LastTransitionTime.Time); late > 5*time.Second {
				w.t.Errorf("the event came %v after the plan", late)
			}
			return true, nil
		}
		return false, nil
	})
	return job.Condition("PodsReady").Message
}

func TestRestrictedNamespaceAcceptsPodsByDefault(t *testing.T) {
	spec := trainingjob.Small{Name: "restricted", Steps: trainingjob.Endless}
	w := newWorld(t, spec, restricted)
	w.apply(spec)
	w.untilTraining()
}

func TestPodThatPodSecurityRefusesIsReported(t *testing.T) {
	spec := trainingjob.Small{Name: "insecure", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t)} // a hostPath
	w := newWorld(t, spec, restricted)
	w.apply(spec)
	message := w.untilRefused()
	for _, part := range []string{"violates PodSecurity", "hostPath", "Change spec.podTemplate"} {
		if !contains(message, part) {
			t.Errorf("%q does not contain %q", message, part)
		}
	}
}

func TestJobThatExceedsAQuotaStartsOnceItIsRaised(t *testing.T) {
	spec := trainingjob.Small{Name: "quota", Steps: trainingjob.Endless}
	w := newWorld(t, spec, nil)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}}
	quotas := cluster.Kubernetes.CoreV1().ResourceQuotas(w.namespace)
	if _, err := quotas.Create(w.ctx, quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.apply(spec)
	if message := w.untilRefused(); !contains(message, "quota") || !contains(message, "ResourceQuota") {
		t.Errorf("%q says nothing about the quota", message)
	}
	if err := quotas.Delete(w.ctx, "team", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.untilTraining()
}
