// Package autoscaler makes the decisions of GKE's cluster autoscaler: which pending pods need new nodes of which pools, and which
// nodes are not needed. It does no I/O and reads no clock. The cloud shows it the cluster and carries out its decisions.
//
// It differs from the real autoscaler in this: several pools can grow in one scan. Of the pools whose nodes fit, the first one in
// the configuration grows. Of a pod's rules it knows node selectors, node affinity, tolerations and requests, but not pod affinity,
// topology spread, host ports and volumes. It expects no pods of DaemonSets on new nodes. Only nodes without pods are removed. The
// backoff of a pool does not grow.
package autoscaler

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sailor.dev/tests/cluster/config"
)

// Autoscaler remembers what must outlive a scan.
type Autoscaler struct {
	times config.Autoscaler
	pools []*pool // in the order of the configuration
	idle  map[types.UID]idleNode
}

// idleNode is a node without pods.
type idleNode struct {
	since  time.Time
	marked bool // to be removed with the next scan
}

// pool is a node pool and what the autoscaler has asked the cloud for.
type pool struct {
	config.NodePool
	stock        *int // how many more machines the cloud can give; nil: any number
	backoffUntil time.Time
	scaleUps     []scaleUp
}

// scaleUp is a request to the cloud that is not finished. The cloud starts only the first machines if it has too few.
type scaleUp struct {
	due      time.Time
	machines []machinePods
	granted  int
}

// machinePods are the pods for which a machine is requested.
type machinePods []*corev1.Pod

// World is the state of the cluster at the time of a scan.
type World struct {
	Now      time.Time
	Machines []Machine
	Nodes    []*corev1.Node // those that are ready
	Pods     []*corev1.Pod
}

// Machine is a machine of the cloud, with or without a Node.
type Machine struct {
	Name, Pool string
	Running    bool // neither killed nor frozen nor preempted: if its Node is not ready, it will be
}

// Decision says what the cloud has to do.
type Decision struct {
	Add    []string // pools, each of which gets one machine
	Mark   []string // nodes that must not get pods any more
	Unmark []string // nodes that may get pods again
	Remove []string // nodes
	Events []Event
}

// Event is to be recorded about a pod.
type Event struct {
	Pod                   *corev1.Pod
	Type, Reason, Message string
}

// Status is the state of a pool. It lacks the machines, which the cloud knows.
type Status struct {
	Requested    int // machines that the cloud has been asked for and that have not started, whether it has them or not
	Stock        *int
	BackoffUntil time.Time // zero: never
}

// New has asked for nothing yet, and the cloud has any number of machines.
func New(c config.Config) *Autoscaler {
	a := &Autoscaler{times: c.Autoscaler, idle: map[types.UID]idleNode{}}
	for _, p := range c.NodePools {
		a.pools = append(a.pools, &pool{NodePool: p})
	}
	return a
}

// SetStock says how many more machines the cloud can give to a pool; nil: any number. A pool in backoff stays in it.
func (a *Autoscaler) SetStock(poolName string, stock *int) {
	if p := a.find(poolName); p != nil {
		p.stock = stock
	}
}

// BackOff leaves a pool alone for a while.
func (a *Autoscaler) BackOff(poolName string, now time.Time) {
	if p := a.find(poolName); p != nil {
		p.backoffUntil = now.Add(a.times.Backoff.Value())
	}
}

// Status is zero for an unknown pool.
func (a *Autoscaler) Status(poolName string) Status {
	p := a.find(poolName)
	if p == nil {
		return Status{}
	}
	return Status{Requested: p.requested(), Stock: p.stock, BackoffUntil: p.backoffUntil}
}

// NextDue is when the cloud answers the next request, if there is one.
func (a *Autoscaler) NextDue() (next time.Time, exists bool) {
	for _, p := range a.pools {
		for _, up := range p.scaleUps {
			if !exists || up.due.Before(next) {
				next, exists = up.due, true
			}
		}
	}
	return next, exists
}

func (a *Autoscaler) find(name string) *pool {
	for _, p := range a.pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (p *pool) requested() (machines int) {
	for _, up := range p.scaleUps {
		machines += len(up.machines)
	}
	return machines
}

// take reduces the stock and returns how many machines the cloud gives.
func (p *pool) take(wanted int) int {
	if p.stock == nil {
		return wanted
	}
	granted := min(wanted, *p.stock)
	left := *p.stock - granted
	p.stock = &left
	return granted
}
