package autoscaler

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
)

const outOfResources = "Node scale up in zones us-central1-a associated with this pod failed: GCE out of resources. " +
	"Pod is at risk of not being scheduled."

func assertEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\ngot  %v\nwant %v", what, got, want)
	}
}

func TestThePoolThatAPodFitsGrows(t *testing.T) {
	in := func(key, value string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}}
	}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want string // the pool that grows, or the end of the message
	}{
		"the first that fits":       {aPod("p"), "l4"},
		"the accelerator decides":   {aPod("p", selecting(config.LabelAccelerator, "nvidia-tesla-t4")), "t4"},
		"the zone decides":          {aPod("p", requiring(in(corev1.LabelTopologyZone, "us-west1-a"))), "t4"},
		"the pool's name decides":   {aPod("p", tolerating(config.LabelSpot), selecting(config.LabelNodePool, "l4-spot")), "l4-spot"},
		"two GPUs are one node's":   {aPod("p", requesting(config.GPU, "2"), selecting(config.LabelAccelerator, "nvidia-l4")), "l4"},
		"spot nodes are tainted":    {aPod("p", selecting(config.LabelSpot, "true")), "2 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)"},
		"no node has so many GPUs":  {aPod("p", requesting(config.GPU, "4")), "2 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s)"},
		"no node has so much CPU":   {aPod("p", requesting(corev1.ResourceCPU, "5")), "2 Insufficient cpu, 1 node(s) had untolerated taint(s)"},
		"an unknown resource":       {aPod("p", requesting("amd.com/gpu", "1")), "2 Insufficient amd.com/gpu, 1 node(s) had untolerated taint(s)"},
		"a node that does not live": {aPod("p", selecting(corev1.LabelHostname, "l4-0")), "2 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)"},
		"bound to a node by its name": {aPod("p", tolerating(config.LabelSpot), requiring(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"l4-0"}}}})), "3 node(s) didn't match Pod's node affinity/selector"},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(parse(t, fixed+l4+l4Spot+t4))
			d := a.Scan(after(0, nil, nil, c.pod))
			if a.find(c.want) == nil {
				assertEqual(t, "messages", messages(d), []string{"pod didn't trigger scale-up: " + c.want})
				return
			}
			assertEqual(t, "events", reasons(d), []string{"p TriggeredScaleUp"})
			assertEqual(t, "nodes", a.Finish(start.Add(2*time.Second), nil).Add, []string{c.want})
		})
	}
}

func TestPodsThatTheClusterNeedNotGrowForAreIgnored(t *testing.T) {
	low := int32(-11)
	for name, change := range map[string]podOption{
		"not seen by the scheduler": func(p *corev1.Pod) { p.Status.Conditions = nil },
		"held back by a gate":       func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated },
		"being deleted":             func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} },
		"of a very low priority":    func(p *corev1.Pod) { p.Spec.Priority = &low },
	} {
		t.Run(name, func(t *testing.T) {
			a := New(parse(t, l4))
			assertEqual(t, "events", reasons(a.Scan(after(0, nil, nil, aPod("p", change)))), nil)
		})
	}
}

func TestAPodThatFitsOnANodeMakesNoPoolGrow(t *testing.T) {
	c := parse(t, l4)
	a := New(c)
	machines, nodes := machinesOf(c.NodePools[0], 1)
	d := a.Scan(after(0, machines, nodes, aPod("running", on("l4-0")), aPod("fits"), aPod("too much")))
	assertEqual(t, "events", reasons(d), []string{"too much TriggeredScaleUp"})
}

func TestPodsShareNewNodesAndTheEventNamesTheNewSize(t *testing.T) {
	a := New(parse(t, l4))
	d := a.Scan(after(0, nil, nil, aPod("a"), aPod("b", requesting(config.GPU, "2")), aPod("c")))
	assertEqual(t, "events", reasons(d), []string{"a TriggeredScaleUp", "c TriggeredScaleUp", "b TriggeredScaleUp"})
	if want := "pod triggered scale-up: [{https://www.googleapis.com/compute/v1/projects/sailor/zones/us-central1-a/instanceGroups/" +
		"gke-sailor-l4-grp 0->2 (max: 3)}]"; d.Events[0].Message != want {
		t.Errorf("got  %s\nwant %s", d.Events[0].Message, want)
	}
	assertEqual(t, "nodes before the cloud is ready", a.Finish(start.Add(time.Second), nil).Add, nil)
	assertEqual(t, "nodes", a.Finish(start.Add(2*time.Second), nil).Add, []string{"l4", "l4"})
	assertEqual(t, "nodes later", a.Finish(start.Add(time.Hour), nil).Add, nil)
}

func TestNodesToComeAreNotRequestedAgain(t *testing.T) {
	c := parse(t, l4)
	a, pods := New(c), []*corev1.Pod{aPod("a", requesting(config.GPU, "2")), aPod("b", requesting(config.GPU, "2"))}
	machines, _ := machinesOf(c.NodePools[0], 2)
	a.Scan(after(0, nil, nil, pods...))
	assertEqual(t, "events while the cloud works", reasons(a.Scan(after(time.Second, nil, nil, pods...))), nil)
	a.Finish(start.Add(2*time.Second), pods)
	assertEqual(t, "events while the nodes start", reasons(a.Scan(after(2*time.Second, machines, nil, pods...))), nil)
	machines[0].Running = false
	assertEqual(t, "events when one was killed", reasons(a.Scan(after(3*time.Second, machines, nil, pods...))), []string{"b TriggeredScaleUp"})
}

func TestAPoolGrowsToItsMaximumAndTheNextPoolTakesTheRest(t *testing.T) {
	a := New(parse(t, l4+t4))
	var pods []*corev1.Pod
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		pods = append(pods, aPod(name, requesting(config.GPU, "2")))
	}
	pods[4] = aPod("e", selecting(config.LabelAccelerator, "nvidia-tesla-t4"))
	d := a.Scan(after(0, []Machine{{Name: "l4-0", Pool: "l4"}}, nil, pods...)) // it was killed, and counts
	assertEqual(t, "events", reasons(d), []string{"c NotTriggerScaleUp", "d NotTriggerScaleUp", "f NotTriggerScaleUp",
		"a TriggeredScaleUp", "b TriggeredScaleUp", "e TriggeredScaleUp"})
	if want := "pod didn't trigger scale-up: 1 Insufficient nvidia.com/gpu, 1 max node group size reached"; d.Events[0].Message != want {
		t.Errorf("got  %s\nwant %s", d.Events[0].Message, want)
	}
}

func TestMachinesToComeCountTowardsTheMaximum(t *testing.T) {
	a, whole := New(parse(t, l4)), requesting(config.GPU, "2")
	a.Scan(after(0, nil, nil, aPod("a", whole), aPod("b", whole)))
	d := a.Scan(after(time.Second, nil, nil, aPod("a", whole), aPod("b", whole), aPod("c", whole), aPod("d", whole)))
	assertEqual(t, "events", reasons(d), []string{"d NotTriggerScaleUp", "c TriggeredScaleUp"})
	if !strings.HasSuffix(d.Events[1].Message, "grp 2->3 (max: 3)}]") {
		t.Errorf("the message is %s", d.Events[1].Message)
	}
}

func TestAPoolThatIsSoldOutFailsAndIsLeftAloneForAWhile(t *testing.T) {
	a, none := New(parse(t, l4)), 0
	a.SetStock("l4", &none)
	pod := aPod("p")
	assertEqual(t, "events at first", reasons(a.Scan(after(0, nil, nil, pod))), []string{"p TriggeredScaleUp"})
	d := a.Finish(start.Add(2*time.Second), []*corev1.Pod{pod})
	assertEqual(t, "messages when the cloud has answered", messages(d), []string{outOfResources})
	if e := d.Events[0]; e.Type != corev1.EventTypeWarning || e.Reason != FailedScaleUp || len(d.Add) > 0 {
		t.Errorf("the event is a %s %s, and the nodes are %v", e.Type, e.Reason, d.Add)
	}
	assertEqual(t, "messages in backoff", messages(a.Scan(after(6*time.Second, nil, nil, pod))),
		[]string{"pod didn't trigger scale-up: 1 in backoff after failed scale-up"})
	a.SetStock("l4", nil)
	assertEqual(t, "events after the backoff", reasons(a.Scan(after(7*time.Second, nil, nil, pod))), []string{"p TriggeredScaleUp"})
	assertEqual(t, "nodes", a.Finish(start.Add(9*time.Second), []*corev1.Pod{pod}).Add, []string{"l4"})
}

func TestTheCloudGivesWhatItHasAndOnlyThePodsLeftWithoutHearOfTheFailure(t *testing.T) {
	a, one := New(parse(t, l4)), 1
	a.SetStock("l4", &one)
	pods := []*corev1.Pod{aPod("old", created(0), requesting(config.GPU, "2")), aPod("a-new", created(time.Second), requesting(config.GPU, "2")),
		aPod("gone", created(time.Second), requesting(config.GPU, "2"))}
	a.Scan(after(time.Second, nil, nil, pods...))
	if status := a.Status("l4"); status.Requested != 3 || *status.Stock != 0 {
		t.Errorf("%d machines are requested, %d are left", status.Requested, *status.Stock)
	}
	pods[2].Spec.NodeName = "elsewhere"
	d := a.Finish(start.Add(3*time.Second), pods)
	assertEqual(t, "nodes", d.Add, []string{"l4"})
	assertEqual(t, "events", reasons(d), []string{"a-new FailedScaleUp"})
	if status := a.Status("l4"); status.Requested != 0 || !status.BackoffUntil.Equal(start.Add(8*time.Second)) {
		t.Errorf("%d machines are requested, the backoff ends at %s", status.Requested, status.BackoffUntil)
	}
}

func TestWhileAPoolIsInBackoffTheNextOneThatFitsGrows(t *testing.T) {
	a, none, pod := New(parse(t, l4+l4Spot)), 0, aPod("p", tolerating(config.LabelSpot))
	a.SetStock("l4", &none)
	a.Scan(after(0, nil, nil, pod))
	a.Finish(start.Add(2*time.Second), []*corev1.Pod{pod})
	assertEqual(t, "events", reasons(a.Scan(after(2*time.Second, nil, nil, pod))), []string{"p TriggeredScaleUp"})
	assertEqual(t, "nodes", a.Finish(start.Add(4*time.Second), []*corev1.Pod{pod}).Add, []string{"l4-spot"})
}

func TestTheNextAnswerOfTheCloudIsTheEarliest(t *testing.T) {
	a := New(parse(t, l4+t4))
	if _, exists := a.NextDue(); exists {
		t.Error("an answer is due without a request")
	}
	a.Scan(after(time.Second, nil, nil, aPod("p", selecting(config.LabelNodePool, "t4"))))
	a.Scan(after(2*time.Second, nil, nil, aPod("q", selecting(config.LabelNodePool, "l4"))))
	if due, _ := a.NextDue(); !due.Equal(start.Add(3 * time.Second)) {
		t.Errorf("it is due at %s", due)
	}
}
