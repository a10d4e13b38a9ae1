package cluster_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"sailor.dev/tests/cluster/autoscaler"
	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/testcluster"
)

// inElasticPool wants one GPU of the autoscaled pool.
func inElasticPool(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{config.LabelNodePool: elastic}
	return withGPUs(pod, 1)
}

// awaitEvent returns the event that the autoscaler has recorded about a pod.
func awaitEvent(t *testing.T, pod, reason string) (event corev1.Event) {
	t.Helper()
	uid := eventually(t, pod, "exist", func(*corev1.Pod) bool { return true }).UID // not an earlier pod of this name
	selector := fields.Set{"involvedObject.uid": string(uid), "reason": reason, "source": autoscaler.Component}.String()
	testcluster.Eventually(t, patience, "the event "+reason+" about pod "+pod, func(ctx context.Context) (bool, error) {
		events, err := shared.Kubernetes.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil || len(events.Items) == 0 {
			return false, err
		}
		event = events.Items[0]
		return true, nil
	})
	return event
}

func assertEvent(t *testing.T, pod, reason, wantType, wantMessage string) {
	t.Helper()
	event := awaitEvent(t, pod, reason)
	if event.Type != wantType || event.Message != wantMessage {
		t.Errorf("got  %s: %s\nwant %s: %s", event.Type, event.Message, wantType, wantMessage)
	}
}

// elasticPool is the pool as the control interface describes it.
func elasticPool(t *testing.T) control.Pool {
	t.Helper()
	pools, err := shared.Pools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range pools {
		if pool.Name == elastic {
			return pool
		}
	}
	t.Fatalf("pool %s is missing from %v", elastic, pools)
	return control.Pool{}
}

// awaitEmptyElasticPool waits for the end of nodes that another test has left.
func awaitEmptyElasticPool(t *testing.T) {
	t.Helper()
	testcluster.Eventually(t, patience, "the idle nodes of the pool to be removed", func(context.Context) (bool, error) {
		return elasticPool(t).Count == 0, nil
	})
}

func TestAPodGetsANewNodeOfAnEmptyPoolAndTheNodeGoesWhenItIsIdle(t *testing.T) {
	awaitEmptyElasticPool(t)
	create(t, inElasticPool(aPod("grows", "sleep 1000")))
	assertEvent(t, "grows", autoscaler.TriggeredScaleUp, corev1.EventTypeNormal,
		"pod triggered scale-up: [{https://www.googleapis.com/compute/v1/projects/sailor/zones/us-central1-a/instanceGroups/gke-sailor-elastic-grp 0->1 (max: 2)}]")
	node := eventually(t, "grows", "run", isRunning).Spec.NodeName
	if pool := elasticPool(t); pool.Count != 1 || pool.Upcoming != 0 || *pool.Limits != (control.Limits{Max: 2}) {
		t.Errorf("the pool is %+v", pool)
	}
	deletePod(t, "grows")
	marked := watchForTaint(t, node, autoscaler.TaintToBeDeleted)
	testcluster.Eventually(t, patience, "node "+node+" to be removed", func(ctx context.Context) (bool, error) {
		_, err := shared.Kubernetes.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
	<-marked
	awaitEmptyElasticPool(t) // the cloud forgets the machine a moment after its Node
}

func TestAPodOfASoldOutPoolFailsToGetANodeUntilTheCloudHasOne(t *testing.T) {
	awaitEmptyElasticPool(t)
	if err := shared.SetStock(t.Context(), elastic, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.SetUnlimitedStock(context.Background(), elastic) })
	create(t, inElasticPool(aPod("unlucky", "sleep 1000")))
	assertEvent(t, "unlucky", autoscaler.FailedScaleUp, corev1.EventTypeWarning, "Node scale up in zones us-central1-a associated with this pod failed: "+
		"GCE out of resources. Pod is at risk of not being scheduled.")
	assertEvent(t, "unlucky", autoscaler.NotTriggerScaleUp, corev1.EventTypeNormal, "pod didn't trigger scale-up: 1 in backoff after failed scale-up")
	if pool := elasticPool(t); pool.Count != 0 || pool.Stock == nil || *pool.Stock != 0 {
		t.Errorf("the pool is %+v", pool)
	}
	if err := shared.SetStock(t.Context(), elastic, 1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "unlucky", "run once the cloud has a machine", isRunning)
}

func TestAPodThatNoPoolFitsDoesNotMakeTheClusterGrow(t *testing.T) {
	pod := aPod("homeless", "true")
	pod.Spec.NodeSelector = map[string]string{config.LabelNodePool: "no-such-pool"}
	create(t, withGPUs(pod, 1))
	assertEvent(t, "homeless", autoscaler.NotTriggerScaleUp, corev1.EventTypeNormal,
		"pod didn't trigger scale-up: 1 node(s) didn't match Pod's node affinity/selector")
}

func TestTheStockOfAPoolOfAFixedSizeCannotBeSet(t *testing.T) {
	err := shared.SetStock(t.Context(), "l4", 1)
	if want := `node pool "l4" has a fixed size`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := shared.SetStock(t.Context(), elastic, -1); err == nil {
		t.Error("a negative stock was accepted")
	}
}

// The autoscaler decides with the template, and the scheduler with the node.
func TestTheAutoscalersTemplateOfANodeIsLikeTheNode(t *testing.T) {
	gke, err := testcluster.GKE()
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(gke)
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range c.NodePools {
		node, err := shared.Kubernetes.CoreV1().Nodes().Get(t.Context(), pool.Name+"-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		assertLike(t, node, autoscaler.Template(pool))
	}
}

func assertLike(t *testing.T, node, template *corev1.Node) {
	t.Helper()
	template.Labels[corev1.LabelHostname] = node.Name
	for label, want := range node.Labels {
		if got := template.Labels[label]; got != want {
			t.Errorf("label %s of %s is %q in the template, %q in the node", label, node.Name, got, want)
		}
	}
	if len(template.Labels) != len(node.Labels) || len(template.Spec.Taints) != len(node.Spec.Taints) {
		t.Errorf("the template of %s has labels %v and taints %v, the node %v and %v", node.Name, template.Labels, template.Spec.Taints, node.Labels, node.Spec.Taints)
	}
	for name, want := range node.Status.Allocatable {
		if got := template.Status.Allocatable[name]; got.Cmp(want) != 0 {
			t.Errorf("resource %s of %s is %s in the template, %s in the node", name, node.Name, got.String(), want.String())
		}
	}
}
