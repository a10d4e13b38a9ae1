package autoscaler

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sailor.dev/tests/cluster/config"
)

// start is the time at which all tests begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// parse completes the text of node pools to a configuration. The cloud takes 2 s, and the backoff and the idle time are 5 s.
func parse(t *testing.T, pools string) config.Config {
	t.Helper()
	c, err := config.Parse([]byte("autoscaler: {idleTime: 5s}\nnodePools:\n"+pools), "/")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	l4     = "- {name: l4, count: 0, maxCount: 3, accelerator: nvidia-l4, gpus: 2}\n"
	l4Spot = "- {name: l4-spot, count: 0, maxCount: 3, zone: us-central1-b, accelerator: nvidia-l4, gpus: 2, spot: true}\n"
	t4     = "- {name: t4, count: 1, maxCount: 2, region: us-west1, accelerator: nvidia-tesla-t4, gpus: 1}\n"
	fixed  = "- {name: fixed, count: 1}\n"
)

type podOption func(*corev1.Pod)

// aPod is pending and unschedulable, and wants one GPU. Its name orders it among pods.
func aPod(name string, options ...podOption) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: string(config.GPU), Operator: corev1.TolerationOpExists}}
	pod.Spec.Containers = []corev1.Container{{}}
	for _, option := range append([]podOption{requesting(config.GPU, "1")}, options...) {
		option(pod)
	}
	return pod
}

func requesting(name corev1.ResourceName, quantity string) podOption {
	return func(pod *corev1.Pod) {
		requests := &pod.Spec.Containers[0].Resources.Requests
		if *requests == nil {
			*requests = corev1.ResourceList{}
		}
		(*requests)[name] = resource.MustParse(quantity)
	}
}

func tolerating(key string) podOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func selecting(label, value string) podOption {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{label: value} }
}

func requiring(term corev1.NodeSelectorTerm) podOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
	}
}

func on(node string) podOption {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeName = node
		pod.Status.Conditions = nil
	}
}

func created(after time.Duration) podOption {
	return func(pod *corev1.Pod) { pod.CreationTimestamp.Time = start.Add(after) }
}

// after is the world some time after the start.
func after(passed time.Duration, machines []Machine, nodes []*corev1.Node, pods ...*corev1.Pod) World {
	return World{Now: start.Add(passed), Machines: machines, Nodes: nodes, Pods: pods}
}

// machinesOf are running machines of a pool, and their Nodes, which are ready.
func machinesOf(p config.NodePool, count int) (machines []Machine, nodes []*corev1.Node) {
	for i := range count {
		machine, node := Machine{Name: fmt.Sprintf("%s-%d", p.Name, i), Pool: p.Name, Running: true}, Template(p)
		node.Name, node.UID = machine.Name, types.UID(machine.Name)
		node.Labels[corev1.LabelHostname] = machine.Name
		machines, nodes = append(machines, machine), append(nodes, node)
	}
	return machines, nodes
}

// reasons are the events of a decision in short.
func reasons(d Decision) (short []string) {
	for _, e := range d.Events {
		short = append(short, e.Pod.Name+" "+e.Reason)
	}
	return short
}

func messages(d Decision) (texts []string) {
	for _, e := range d.Events {
		texts = append(texts, e.Message)
	}
	return texts
}
