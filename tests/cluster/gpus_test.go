package cluster_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPodsGetDifferentGPUsOfTheirNode(t *testing.T) {
	node := aNode(t, "l4")
	for _, name := range []string{"gpu-a", "gpu-b"} {
		create(t, withGPUs(onNode(aPod(name, "echo $NVIDIA_VISIBLE_DEVICES; sleep 1000"), node), 1))
		eventually(t, name, "run", isRunning)
	}
	var seen []string
	for _, name := range []string{"gpu-a", "gpu-b"} {
		log := lines(t, name)
		log.Scan()
		seen = append(seen, log.Text())
	}
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"0", "1"}) {
		t.Errorf("the pods see the GPUs %q", seen)
	}
}

func TestAPodWaitsUntilAsManyGPUsAreFreeAsItWants(t *testing.T) {
	node := aNode(t, "l4")
	create(t, withGPUs(onNode(aPod("first", "sleep 1000"), node), 2))
	eventually(t, "first", "run", isRunning)
	create(t, withGPUs(onNode(aPod("second", "sleep 1000"), node), 2))
	eventually(t, "second", "be refused by the scheduler", func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
	})
	deletePod(t, "first")
	eventually(t, "second", "run once the first is gone", isRunning)
}

func TestAPodThatAsksForGPUsToleratesTheirTaintByItself(t *testing.T) {
	create(t, withGPUs(aPod("tolerant", "true"), 1))
	pod := eventually(t, "tolerant", "end", hasEnded)
	if pod.Spec.NodeName == "system-0" {
		t.Error("it ran on a node without GPUs")
	}
}
