package cluster_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodesHaveTheLabelsAndTaintsOfGKE(t *testing.T) {
	node, err := shared.Kubernetes.CoreV1().Nodes().Get(t.Context(), "l4-spot-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"cloud.google.com/gke-nodepool":    "l4-spot",
		"cloud.google.com/gke-accelerator": "nvidia-l4",
		"cloud.google.com/gke-spot":        "true",
		"topology.kubernetes.io/region":    "us-central1",
		"topology.kubernetes.io/zone":      "us-central1-b",
		"node.kubernetes.io/instance-type": "g2-standard-24",
		"kubernetes.io/hostname":           "l4-spot-0",
	} {
		if got := node.Labels[label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
	for _, want := range []corev1.Taint{
		{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule},
		{Key: "cloud.google.com/gke-spot", Value: "true", Effect: corev1.TaintEffectNoSchedule},
	} {
		if !slices.Contains(node.Spec.Taints, want) {
			t.Errorf("taint %v is missing from %v", want, node.Spec.Taints)
		}
	}
	if gpus := node.Status.Allocatable["nvidia.com/gpu"]; gpus.Value() != 2 {
		t.Errorf("%s GPUs are allocatable, want 2", gpus.String())
	}
}

func TestNodesOfOtherPoolsLackTheLabelsOfSpotAndGPUs(t *testing.T) {
	node, err := shared.Kubernetes.CoreV1().Nodes().Get(t.Context(), "system-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"cloud.google.com/gke-accelerator", "cloud.google.com/gke-spot"} {
		if value, has := node.Labels[label]; has {
			t.Errorf("label %s is there, with value %q", label, value)
		}
	}
	if len(node.Spec.Taints) > 0 {
		t.Errorf("it has taints: %v", node.Spec.Taints)
	}
}

func TestAnAddedNodeTakesANameThatWasFreedAndIsAnother(t *testing.T) {
	uid := func(name string) string {
		node, err := shared.Kubernetes.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(node.UID)
	}
	first := aNode(t, "system")
	old := uid(first)
	if err := shared.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := aNode(t, "system")
	if second != first || uid(second) == old {
		t.Errorf("first %s with UID %s, then %s with UID %s", first, old, second, uid(second))
	}
}

func TestAnUnknownPoolOrNodeIsNamedInTheError(t *testing.T) {
	_, err := shared.Add(t.Context(), "h100")
	if want := `there is no node pool "h100"; there are system, l4, l4-spot, t4, t4-spot, elastic`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	err = shared.Kill(t.Context(), "nobody")
	if want := "there is no node \"nobody\": see `sailor-cluster node list`"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
