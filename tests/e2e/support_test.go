package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// testContext is for what a test does before or after its job.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), oneChange)
	t.Cleanup(cancel)
	return ctx
}

func isUsable(node corev1.Node) bool {
	terminating := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == config.TaintTermination })
	return !terminating && slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

func readyNodesByPool(ctx context.Context) (map[string]int, error) {
	nodes, err := cluster.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, node := range nodes.Items {
		if isUsable(node) {
			count[node.Labels[config.LabelNodePool]]++
		}
	}
	return count, nil
}

// restoreNodes replaces nodes that were killed, preempted or deleted, whether or not the test came to its end.
func restoreNodes(ctx context.Context, t *testing.T) {
	t.Helper()
	nodes, err := cluster.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	missing := maps.Clone(poolSizes)
	for _, node := range nodes.Items {
		if isUsable(node) {
			missing[node.Labels[config.LabelNodePool]]--
		} else if err := cluster.Delete(ctx, node.Name); err != nil {
			t.Error(err)
		}
	}
	for pool, count := range missing {
		for range count {
			if _, err := cluster.Add(ctx, pool); err != nil {
				t.Error(err)
			}
		}
	}
	testcluster.Eventually(t, oneChange, "all nodes to be ready", func(ctx context.Context) (bool, error) {
		ready, err := readyNodesByPool(ctx)
		return maps.Equal(ready, poolSizes), err
	})
}

func (w *world) untilNoPods() {
	w.t.Helper()
	testcluster.Eventually(w.t, oneChange, "the job's pods to go", func(ctx context.Context) (bool, error) {
		pods, err := w.pods(ctx)
		return len(pods) == 0, err
	})
}

func (w *world) untilNoPodRuns() {
	w.t.Helper()
	testcluster.Eventually(w.t, oneChange, "the job's pods to end", func(ctx context.Context) (bool, error) {
		pods, err := w.pods(ctx)
		running := slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
		})
		return !running, err
	})
}

// untilGone waits until the namespace has nothing of a kind but what Kubernetes puts into every namespace.
func (w *world) untilGone(kind string) {
	w.t.Helper()
	testcluster.Eventually(w.t, oneChange, "the job's "+kind+" to go", func(ctx context.Context) (bool, error) {
		names, err := cluster.Kubectl(ctx, "-n", w.namespace, "get", kind, "-o", "name")
		left := strings.Fields(strings.ReplaceAll(names, "configmap/kube-root-ca.crt", ""))
		return len(left) == 0, err
	})
}
