package autoscaler

import (
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"sailor.dev/tests/cluster/config"
)

// Template is the Node that a new machine of the pool will have. Its name and hostname are no real node's, so that a pod that is
// bound to a node by its name does not fit.
func Template(p config.NodePool) *corev1.Node {
	node := &corev1.Node{}
	node.Name = "template-node-for-" + p.Name
	node.Labels = p.NodeLabels()
	for label, value := range map[string]string{
		corev1.LabelHostname: node.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
		"beta.kubernetes.io/os": runtime.GOOS, "beta.kubernetes.io/arch": runtime.GOARCH} {
		node.Labels[label] = value
	}
	node.Spec.Taints = p.NodeTaints()
	node.Status.Capacity, node.Status.Allocatable = p.Capacity(), p.Capacity()
	return node
}

// simulatedNode is a node on which a scan places pods.
type simulatedNode struct {
	*corev1.Node
	free   corev1.ResourceList
	busy   bool        // it has a pod that is not a DaemonSet's or a static one, or will have one
	placed machinePods // pods that the scan has placed here
}

func simulate(node *corev1.Node) *simulatedNode {
	return &simulatedNode{Node: node, free: node.Status.Allocatable.DeepCopy()}
}

// hold counts a pod that is bound to the node.
func (n *simulatedNode) hold(pod *corev1.Pod) {
	for name, wanted := range requests(pod) {
		left := n.free[name]
		left.Sub(wanted)
		n.free[name] = left
	}
	n.busy = n.busy || !isPartOfNode(pod)
}

// place counts a pending pod for which the node has room.
func (n *simulatedNode) place(pod *corev1.Pod) {
	n.hold(pod)
	n.placed = append(n.placed, pod)
}

// misfits says in the scheduler's words why the node does not take the pod. It is empty if the node takes it. As the scheduler
// does, it stops at the first kind of reason.
func (n *simulatedNode) misfits(pod *corev1.Pod) []string {
	unschedulable := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if n.Spec.Unschedulable && !schedulinghelper.TolerationsTolerateTaint(pod.Spec.Tolerations, &unschedulable) {
		return []string{"node(s) were unschedulable"}
	}
	if _, refused := schedulinghelper.FindMatchingUntoleratedTaint(n.Spec.Taints, pod.Spec.Tolerations, keepsPodsAway); refused {
		return []string{"node(s) had untolerated taint(s)"}
	}
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n.Node); !matches || err != nil {
		return []string{"node(s) didn't match Pod's node affinity/selector"}
	}
	return n.shortages(pod)
}

func (n *simulatedNode) shortages(pod *corev1.Pod) (reasons []string) {
	for name, wanted := range requests(pod) {
		free := n.free[name]
		if wanted.IsZero() || wanted.Cmp(free) <= 0 {
			continue
		}
		if name == corev1.ResourcePods {
			reasons = append(reasons, "Too many pods")
		} else {
			reasons = append(reasons, fmt.Sprintf("Insufficient %s", name))
		}
	}
	return reasons
}

func keepsPodsAway(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}

func requests(pod *corev1.Pod) corev1.ResourceList {
	wanted := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	wanted[corev1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return wanted
}

// isPartOfNode tells whether a pod comes and goes with its node.
func isPartOfNode(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return true
	}
	for _, owner := range pod.OwnerReferences {
		if owner.Controller != nil && *owner.Controller && owner.Kind == "DaemonSet" {
			return true
		}
	}
	return false
}

func firstFit(nodes []*simulatedNode, pod *corev1.Pod) *simulatedNode {
	for _, n := range nodes {
		if len(n.misfits(pod)) == 0 {
			return n
		}
	}
	return nil
}
