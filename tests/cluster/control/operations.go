package control

import (
	"context"
	"time"
)

// NodeState says what a machine does.
type NodeState string

// The states of a machine.
const (
	Running    NodeState = "running"
	Frozen     NodeState = "frozen"
	Preempting NodeState = "preempting" // the machine has received its notice
	Killed     NodeState = "killed"     // the Node object may still exist
)

// Node is one machine of the cluster.
type Node struct {
	Name    string    `json:"name"`
	Pool    string    `json:"pool"`
	Address string    `json:"address"`
	State   NodeState `json:"state"`
	PID     int       `json:"pid"` // the process of its kubelet, the ancestor of all processes on the node
	// Slowdown is how many times as long the machine's GPUs take as usual.
	Slowdown float64 `json:"slowdown"`
}

// Pool is one node pool of the cluster.
type Pool struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`            // machines, whatever their state
	Limits *Limits `json:"limits,omitempty"` // nil: the autoscaler leaves the pool alone
	// Upcoming is how many machines the autoscaler has asked for that have not started, whether the cloud has them or not.
	Upcoming     int        `json:"upcoming"`
	Stock        *int       `json:"stock,omitempty"`        // how many more machines the cloud can give; nil: any number
	BackoffUntil *time.Time `json:"backoffUntil,omitempty"` // nil: the pool is not in backoff
}

// Limits are the least and the largest size that the autoscaler gives to a pool.
type Limits struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Operations are the operations on a cluster. Client implements them too.
type Operations interface {
	// Ready returns when the control plane and the configured nodes are ready.
	Ready(ctx context.Context) error
	// Nodes lists the machines by name.
	Nodes(ctx context.Context) ([]Node, error)
	// Add starts one more machine in a pool and returns its name. A name that was deleted may come back.
	Add(ctx context.Context, pool string) (string, error)
	// Kill ends a machine and all that runs on it at once, without notice; its Node object stays.
	Kill(ctx context.Context, node string) error
	// Start starts a killed machine again.
	Start(ctx context.Context, node string) error
	// Freeze stops a machine and all that runs on it without ending it; Thaw lets it go on.
	Freeze(ctx context.Context, node string) error
	Thaw(ctx context.Context, node string) error
	// Slow makes the GPUs of a machine take this many times as long as usual from now on; 1 ends it.
	Slow(ctx context.Context, node string, factor float64) error
	// Delete ends a machine at once and deletes its Node object.
	Delete(ctx context.Context, node string) error
	// Preempt does what happens to a spot machine: a notice, a graceful shutdown, the end after the grace at the
	// latest, the Node object deleted. It returns after all that.
	Preempt(ctx context.Context, node string, grace time.Duration) error
	// Pools lists the node pools as in the configuration.
	Pools(ctx context.Context) ([]Pool, error)
	// SetStock says how many more machines of an autoscaled pool the cloud can give to the autoscaler, which gets fewer than it asks
	// for if there are too few. Add does not depend on it, and machines that are removed do not come back to it.
	SetStock(ctx context.Context, pool string, machines int) error
	// SetUnlimitedStock lets the cloud give any number again, as at the start.
	SetUnlimitedStock(ctx context.Context, pool string) error
}
