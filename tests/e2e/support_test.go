package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// testContext is for what a test does before or after its job.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func nodesReady(ctx context.Context) (bool, error) {
	nodes, err := cluster.Kubernetes.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, node := range nodes.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return false, nil
			}
		}
	}
	return true, nil
}

func (w *world) untilNoPods() {
	w.t.Helper()
	testcluster.Eventually(w.t, time.Minute, "the job's pods to go", func(ctx context.Context) (bool, error) {
		pods, err := w.pods(ctx)
		return len(pods) == 0, err
	})
}

func (w *world) untilNoPodRuns() {
	w.t.Helper()
	testcluster.Eventually(w.t, time.Minute, "the job's pods to end", func(ctx context.Context) (bool, error) {
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
	testcluster.Eventually(w.t, time.Minute, "the job's "+kind+" to go", func(ctx context.Context) (bool, error) {
		names, err := cluster.Kubectl(ctx, "-n", w.namespace, "get", kind, "-o", "name")
		left := strings.Fields(strings.ReplaceAll(names, "configmap/kube-root-ca.crt", ""))
		return len(left) == 0, err
	})
}
