package autoscaler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Component is the source of the events.
const Component = "cluster-autoscaler"

// Reasons of events about pods, and about nodes.
const (
	TriggeredScaleUp  = "TriggeredScaleUp"
	NotTriggerScaleUp = "NotTriggerScaleUp"
	FailedScaleUp     = "FailedScaleUp"
	ScaleDown         = "ScaleDown"
	ScaleDownFailed   = "ScaleDownFailed"
)

// Texts of the events about nodes.
const (
	MarkedNode   = "marked the node as toBeDeleted/unschedulable"
	UnmarkedNode = "failed to delete the node: it is needed again"
)

// TaintToBeDeleted is on a node that is about to be removed.
const TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"

// Why a pool is not considered.
const (
	atMaximum = "max node group size reached"
	inBackoff = "in backoff after failed scale-up"
)

// The texts are those of cluster-autoscaler (processors/status/eventing_scale_up_processor.go) and, for a failure, of GKE.

func (p *pool) groupID() string {
	return fmt.Sprintf("https://www.googleapis.com/compute/v1/projects/sailor/zones/%s/instanceGroups/gke-sailor-%s-grp", p.Zone, p.Name)
}

func (p *pool) triggered(pod *corev1.Pod, before, after int) Event {
	return Event{pod, corev1.EventTypeNormal, TriggeredScaleUp,
		fmt.Sprintf("pod triggered scale-up: [{%s %d->%d (max: %d)}]", p.groupID(), before, after, p.MaxCount)}
}

func (p *pool) failed(pod *corev1.Pod) Event {
	return Event{pod, corev1.EventTypeWarning, FailedScaleUp, fmt.Sprintf("Node scale up in zones %s associated with this pod failed: "+
		"GCE out of resources. Pod is at risk of not being scheduled.", p.Zone)}
}

// notTriggered counts the pools that each reason rules out. The order is fixed, so that equal events have equal texts.
func notTriggered(pod *corev1.Pod, pools map[string]int) Event {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(pools)) {
		parts = append(parts, fmt.Sprintf("%d %s", pools[reason], reason))
	}
	return Event{pod, corev1.EventTypeNormal, NotTriggerScaleUp, "pod didn't trigger scale-up: " + strings.Join(parts, ", ")}
}
