package cluster_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
)

// patience is the limit for one wait of a test. It is long, because the machine may be busy.
const patience = 90 * time.Second

// aPod runs a shell script on any node.
func aPod(name, script string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = name, "default"
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "any", Command: []string{"sh", "-c", script}}}
	return pod
}

// onNode binds a pod to a node, with its taints.
func onNode(pod *corev1.Pod, node string) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: config.LabelSpot, Operator: corev1.TolerationOpExists},
		{Key: string(config.GPU), Operator: corev1.TolerationOpExists}}
	return pod
}

func withGPUs(pod *corev1.Pod, count int64) *corev1.Pod {
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{config.GPU: *resource.NewQuantity(count, resource.DecimalSI)}
	return pod
}

// create makes the pod and deletes it after the test.
func create(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	pods := shared.Kubernetes.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deletePod(t, pod.Name) })
}

func deletePod(t *testing.T, name string) {
	pods, now := shared.Kubernetes.CoreV1().Pods("default"), int64(0)
	_ = pods.Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	testcluster.Eventually(t, patience, "pod "+name+" to be gone", func(ctx context.Context) (bool, error) {
		_, err := pods.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// eventually waits until the pod is as claimed.
func eventually(t *testing.T, name, claim string, holds func(*corev1.Pod) bool) (pod *corev1.Pod) {
	t.Helper()
	testcluster.Eventually(t, patience, "pod "+name+" to "+claim, func(ctx context.Context) (_ bool, err error) {
		pod, err = shared.Kubernetes.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		return err == nil && holds(pod), err
	})
	return pod
}

func isRunning(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// output returns the output of a pod that has ended.
func output(t *testing.T, name string) string {
	t.Helper()
	eventually(t, name, "end", hasEnded)
	text, err := shared.Kubernetes.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// lines follows what a pod prints, until the test reads no more.
func lines(t *testing.T, name string) *bufio.Scanner {
	t.Helper()
	stream, err := shared.Kubernetes.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	return bufio.NewScanner(io.Reader(stream))
}

// aNode adds a node to a pool for one test and returns its name when it is ready.
func aNode(t *testing.T, pool string) string {
	t.Helper()
	name, err := shared.Add(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Delete(context.Background(), name) }) // the test may have
	awaitNode(t, name, corev1.ConditionTrue)
	return name
}

// awaitNode waits until the node's condition Ready is as wanted and, if that is True, pods may be put on it.
func awaitNode(t *testing.T, name string, ready corev1.ConditionStatus) {
	t.Helper()
	testcluster.Eventually(t, patience, "node "+name+" to have Ready="+string(ready), func(ctx context.Context) (bool, error) {
		node, err := shared.Kubernetes.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, taint := range node.Spec.Taints {
			if ready == corev1.ConditionTrue && strings.HasPrefix(taint.Key, "node") { // not ready, not initialized
				return false, nil
			}
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status == ready, nil
			}
		}
		return false, nil
	})
}
