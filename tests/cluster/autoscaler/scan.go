package autoscaler

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
)

// leastPriority is the priority below which a pod does not make the cluster grow, as in the real autoscaler.
const leastPriority = -10

// scan is one look at the cluster.
type scan struct {
	*Autoscaler
	world    World
	ready    map[string]*simulatedNode // by name
	nodes    []*simulatedNode          // those that are ready, those to come, and those that the scan asks for
	sizes    map[string]int            // machines of each pool, those to come included
	wanted   map[*pool][]*simulatedNode
	decision Decision
}

// Scan asks for new nodes and names those that are not needed.
func (a *Autoscaler) Scan(world World) Decision {
	s := &scan{Autoscaler: a, world: world, ready: map[string]*simulatedNode{}, sizes: map[string]int{}, wanted: map[*pool][]*simulatedNode{}}
	s.addReadyNodes()
	s.addUpcomingNodes()
	for _, pod := range pendingPods(world.Pods) {
		s.findNode(pod)
	}
	for _, p := range a.pools {
		s.request(p, s.wanted[p])
	}
	s.removeIdleNodes()
	return s.decision
}

// Finish is the cloud's answer to the requests that are due. Pods that have no node now have lost their chance.
func (a *Autoscaler) Finish(now time.Time, pods []*corev1.Pod) (d Decision) {
	pending := map[types.UID]bool{}
	for _, pod := range pendingPods(pods) {
		pending[pod.UID] = true
	}
	for _, p := range a.pools {
		p.scaleUps = slices.DeleteFunc(p.scaleUps, func(up scaleUp) bool {
			if up.due.After(now) {
				return false
			}
			d.Add = append(d.Add, slices.Repeat([]string{p.Name}, up.granted)...)
			if up.granted < len(up.machines) {
				a.BackOff(p.Name, now)
			}
			for _, pod := range slices.Concat(up.machines[up.granted:]...) {
				if pending[pod.UID] {
					d.Events = append(d.Events, p.failed(pod))
				}
			}
			return true
		})
	}
	return d
}

func (s *scan) addReadyNodes() {
	for _, node := range s.world.Nodes {
		s.ready[node.Name] = simulate(node)
		s.nodes = append(s.nodes, s.ready[node.Name])
	}
	for _, pod := range s.world.Pods {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if n := s.ready[pod.Spec.NodeName]; n != nil && !ended {
			n.hold(pod)
		}
	}
}

// addUpcomingNodes adds the nodes that are not ready yet and those that the cloud has been asked for.
func (s *scan) addUpcomingNodes() {
	upcoming := map[string]int{}
	for _, m := range s.world.Machines {
		s.sizes[m.Pool]++
		if m.Running && s.ready[m.Name] == nil {
			upcoming[m.Pool]++
		}
	}
	for _, p := range s.pools {
		s.sizes[p.Name] += p.requested()
		for range upcoming[p.Name] + p.requested() {
			s.nodes = append(s.nodes, simulate(Template(p.NodePool)))
		}
	}
}

// findNode places the pod on the first node with room, or else on a new node of the first pool that can grow.
func (s *scan) findNode(pod *corev1.Pod) {
	if n := firstFit(s.nodes, pod); n != nil {
		n.place(pod)
		return
	}
	ruledOut := map[string]int{}
	for _, p := range s.pools {
		if !p.Autoscales() {
			continue
		}
		n := simulate(Template(p.NodePool))
		reasons := s.whyNot(p, n, pod)
		if len(reasons) == 0 {
			n.place(pod)
			s.nodes = append(s.nodes, n)
			s.wanted[p] = append(s.wanted[p], n)
			return
		}
		for _, reason := range reasons {
			ruledOut[reason]++
		}
	}
	s.decision.Events = append(s.decision.Events, notTriggered(pod, ruledOut))
}

// whyNot says why a new node of the pool does not help the pod. As in the real autoscaler, a pool that cannot grow is named as such
// even if its nodes would not fit.
func (s *scan) whyNot(p *pool, newNode *simulatedNode, pod *corev1.Pod) []string {
	if s.world.Now.Before(p.backoffUntil) {
		return []string{inBackoff}
	}
	if s.sizes[p.Name]+len(s.wanted[p]) >= p.MaxCount {
		return []string{atMaximum}
	}
	return newNode.misfits(pod)
}

func (s *scan) request(p *pool, nodes []*simulatedNode) {
	if len(nodes) == 0 {
		return
	}
	up := scaleUp{due: s.world.Now.Add(s.times.ProvisionTime.Value()), granted: p.take(len(nodes))}
	before, after := s.sizes[p.Name], s.sizes[p.Name]+len(nodes)
	for _, n := range nodes {
		up.machines = append(up.machines, n.placed)
		for _, pod := range n.placed {
			s.decision.Events = append(s.decision.Events, p.triggered(pod, before, after))
		}
	}
	p.scaleUps = append(p.scaleUps, up)
	s.sizes[p.Name] = after
}

// removeIdleNodes marks nodes that have been without pods for long enough, down to the minimum of their pools. It removes them with
// the next scan, because the scheduler may not have seen the mark yet.
func (s *scan) removeIdleNodes() {
	idle := map[types.UID]idleNode{}
	for _, m := range s.world.Machines {
		p, n := s.find(m.Pool), s.ready[m.Name]
		if p == nil || !p.Autoscales() || n == nil {
			continue
		}
		before, known := s.idle[n.UID]
		if !known {
			before.since = s.world.Now
		}
		unneeded := !n.busy && m.Running
		removable := unneeded && s.world.Now.Sub(before.since) >= s.times.IdleTime.Value() && s.sizes[p.Name] > p.Count
		switch {
		case removable && before.marked:
			s.decision.Remove = append(s.decision.Remove, m.Name)
		case removable:
			s.decision.Mark = append(s.decision.Mark, m.Name)
		case before.marked:
			s.decision.Unmark = append(s.decision.Unmark, m.Name)
		}
		if removable {
			s.sizes[p.Name]--
		}
		if unneeded {
			idle[n.UID] = idleNode{since: before.since, marked: removable}
		}
	}
	s.idle = idle
}

// pendingPods are those for which the scheduler has found no node, the oldest first.
func pendingPods(pods []*corev1.Pod) (pending []*corev1.Pod) {
	for _, pod := range pods {
		if isUnschedulable(pod) && schedulinghelper.PodPriority(pod) >= leastPriority {
			pending = append(pending, pod)
		}
	}
	slices.SortFunc(pending, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pending
}

func isUnschedulable(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}
