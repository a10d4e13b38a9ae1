package autoscaler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
)

func daemon(pod *corev1.Pod) {
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &yes}}
}

func static(pod *corev1.Pod) {
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
}

func TestANodeThatNobodyUsedForTheIdleTimeIsRemoved(t *testing.T) {
	c := parse(t, l4)
	machines, nodes := machinesOf(c.NodePools[0], 1)
	for name, test := range map[string]struct {
		pod     *corev1.Pod
		removed bool
	}{
		"a pod runs on it":            {aPod("p", on("l4-0")), false},
		"a pod is about to run on it": {aPod("p"), false},
		"a pod of a DaemonSet":        {aPod("p", on("l4-0"), daemon), true},
		"a static pod":                {aPod("p", on("l4-0"), static), true},
		"a pod that has ended":        {aPod("p", on("l4-0"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), true},
		"a pod elsewhere":             {aPod("p", on("l4-1")), true},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(c)
			for _, seconds := range []time.Duration{0, 4} {
				assertEqual(t, "nodes marked before the time", a.Scan(after(seconds*time.Second, machines, nodes, test.pod)).Mark, nil)
			}
			want := []string{"l4-0"}
			if !test.removed {
				want = nil
			}
			marked := a.Scan(after(5*time.Second, machines, nodes, test.pod))
			assertEqual(t, "nodes marked", marked.Mark, want)
			assertEqual(t, "nodes removed before the scheduler has seen the mark", marked.Remove, nil)
			assertEqual(t, "nodes removed", a.Scan(after(6*time.Second, machines, nodes, test.pod)).Remove, want)
		})
	}
}

func TestAPodInBetweenMakesTheIdleTimeBeginAgain(t *testing.T) {
	c := parse(t, l4)
	a := New(c)
	machines, nodes := machinesOf(c.NodePools[0], 1)
	a.Scan(after(0, machines, nodes))
	a.Scan(after(3*time.Second, machines, nodes, aPod("p", on("l4-0"))))
	a.Scan(after(4*time.Second, machines, nodes))
	assertEqual(t, "nodes too early", a.Scan(after(8*time.Second, machines, nodes)).Mark, nil)
	nodes[0].UID = "another one of the same name"
	assertEqual(t, "nodes of another identity", a.Scan(after(9*time.Second, machines, nodes)).Mark, nil)
	assertEqual(t, "nodes", a.Scan(after(14*time.Second, machines, nodes)).Mark, []string{"l4-0"})
}

func TestAMarkedNodeThatAPodReachesAllTheSameStays(t *testing.T) {
	c := parse(t, l4)
	a := New(c)
	machines, nodes := machinesOf(c.NodePools[0], 1)
	a.Scan(after(0, machines, nodes))
	a.Scan(after(5*time.Second, machines, nodes))
	d := a.Scan(after(6*time.Second, machines, nodes, aPod("p", on("l4-0"))))
	assertEqual(t, "nodes unmarked", d.Unmark, []string{"l4-0"})
	assertEqual(t, "nodes removed", d.Remove, nil)
	assertEqual(t, "nodes unmarked again", a.Scan(after(7*time.Second, machines, nodes)).Unmark, nil)
}

func TestAPoolKeepsItsMinimumAndAPoolOfAFixedSizeAllNodes(t *testing.T) {
	c := parse(t, "- {name: three, count: 1, maxCount: 3}\n- {name: fixed, count: 0}\n")
	a := New(c)
	machines, nodes := machinesOf(c.NodePools[0], 3)
	fixedMachines, fixedNodes := machinesOf(c.NodePools[1], 1)
	machines, nodes = append(machines, fixedMachines...), append(nodes, fixedNodes...)
	a.Scan(after(0, machines, nodes))
	assertEqual(t, "nodes", a.Scan(after(5*time.Second, machines, nodes)).Mark, []string{"three-0", "three-1"})
}

func TestANodeThatIsNotReadyOrBeingPreemptedIsNotRemoved(t *testing.T) {
	c := parse(t, l4)
	a := New(c)
	machines, nodes := machinesOf(c.NodePools[0], 2)
	machines[0].Running = false // it was preempted, but its Node is ready
	for _, seconds := range []time.Duration{0, 5} {
		assertEqual(t, "nodes", a.Scan(after(seconds*time.Second, machines, nodes[:1])).Mark, nil)
	}
}

func TestATaintedNodeDoesNotTakeThePodsThatWait(t *testing.T) {
	c := parse(t, l4)
	machines, nodes := machinesOf(c.NodePools[0], 2)
	nodes[0].Spec.Taints = append(nodes[0].Spec.Taints, corev1.Taint{Key: config.TaintTermination, Effect: corev1.TaintEffectNoSchedule})
	nodes[1].Spec.Unschedulable = true
	a := New(c)
	assertEqual(t, "events", reasons(a.Scan(after(0, machines, nodes, aPod("p")))), []string{"p TriggeredScaleUp"})
}
