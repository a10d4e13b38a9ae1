package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sailor.dev/tests/cluster/config"
)

const (
	foreignNamespace = "foreign"
	clientsAtOnce    = 8
	podsOfNode       = 100 // foreign pods on one node
)

// NodeName is the name of one of the fleet's nodes.
func NodeName(i int) string { return fmt.Sprintf("%s-%d", pool, i) }

// AddNodes makes Ready nodes with a GPU each.
func (f *Fleet) AddNodes(ctx context.Context, count int) error {
	kind := config.NodePool{Name: pool, Region: "us-central1", Zone: "us-central1-a", MachineType: "g2-standard-8", CPU: 8, Memory: "32Gi",
		Accelerator: accelerator, GPUs: 1}
	return eachOf(count, clientsAtOnce, func(i int) error { return f.addNode(ctx, NodeName(i), kind) })
}

func (f *Fleet) addNode(ctx context.Context, name string, kind config.NodePool) error {
	labels := kind.NodeLabels()
	labels[corev1.LabelHostname] = name
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: kind.NodeTaints()},
		Status: corev1.NodeStatus{Capacity: kind.Capacity(), Allocatable: kind.Capacity(), Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated", LastHeartbeatTime: now, LastTransitionTime: now}}},
	}
	made, err := f.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil || len(made.Status.Conditions) > 0 {
		return err
	}
	made.Status = node.Status
	_, err = f.client.CoreV1().Nodes().UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// Announce gives a node the taint that says that its machine will soon be taken away, and returns when that was.
func (f *Fleet) Announce(ctx context.Context, node string) (time.Time, error) {
	taint := corev1.Taint{Key: config.TaintTermination, Effect: corev1.TaintEffectNoSchedule, Value: "true"}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": []corev1.Taint{taint}}})
	if err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	_, err = f.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return began, err
}

// AddForeignPods makes pods that are not the operator's, on nodes without GPUs. They stay Pending, which costs no further writes.
func (f *Fleet) AddForeignPods(ctx context.Context, count int) error {
	kind := config.NodePool{Name: "web", Region: "us-central1", Zone: "us-central1-a", MachineType: "e2-standard-16", CPU: 16, Memory: "64Gi"}
	nodes := (count + podsOfNode - 1) / podsOfNode
	if err := eachOf(nodes, clientsAtOnce, func(i int) error { return f.addNode(ctx, fmt.Sprintf("web-%d", i), kind) }); err != nil {
		return err
	}
	return eachOf(count, clientsAtOnce, func(i int) error {
		_, err := f.client.CoreV1().Pods(foreignNamespace).Create(ctx, foreignPod(i), metav1.CreateOptions{})
		return err
	})
}

func foreignPod(i int) *corev1.Pod {
	variables := make([]corev1.EnvVar, 10)
	for v := range variables {
		variables[v] = corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", v), Value: "a value as long as settings of a web server are"}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i), Labels: map[string]string{"app": "web", "pod-template-hash": "5d9f7b8c6d"}},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("web-%d", i/podsOfNode), Containers: []corev1.Container{
			{Name: "web", Image: "web", Env: variables}, {Name: "proxy", Image: "proxy", Env: variables}}},
	}
}
