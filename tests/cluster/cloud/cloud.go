// Package cloud owns the machines of a cluster: it starts and ends them as a cloud does, and does what a
// cloud-controller-manager would do to their Node objects.
package cloud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/controlplane"
	"sailor.dev/tests/cluster/network"
	"sailor.dev/tests/cluster/pace"
)

// Cloud has the control.Operations.
type Cloud struct {
	config config.Config
	cp     *controlplane.ControlPlane
	nodes  *nodeController
	pacer  *pace.Pacer
	ready  chan struct{} // closed when the configured nodes are ready
	scaler *scaler

	mu       sync.Mutex
	closed   bool
	subnets  network.Ring
	machines map[string]*machine
}

var _ control.Operations = (*Cloud)(nil)

// New has no machines yet. It works until ctx ends.
func New(ctx context.Context, c config.Config, cp *controlplane.ControlPlane) (*Cloud, error) {
	cloud := &Cloud{config: c, cp: cp, pacer: pace.NewPacer(ctx, c.Share(), pace.WorkersOf), ready: make(chan struct{}),
		scaler: newScaler(c), subnets: network.Ring{First: 1, Last: 255}, machines: map[string]*machine{}}
	var err error
	cloud.nodes, err = startNodeController(ctx, cp.Client, cloud.address)
	return cloud, err
}

// StartPools starts the machines of the configuration and returns when they are ready.
func (c *Cloud) StartPools(ctx context.Context) error {
	var names []string
	for _, pool := range c.config.NodePools {
		for range pool.Count {
			name, err := c.Add(ctx, pool.Name)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
	}
	if err := c.awaitReady(ctx, names); err != nil {
		return err
	}
	close(c.ready)
	return nil
}

// awaitReady fails when one of the machines ends.
func (c *Cloud) awaitReady(ctx context.Context, names []string) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	for _, name := range names {
		m, err := c.find(name)
		if err != nil {
			return err
		}
		go func() {
			select {
			case <-m.running().Exited():
				fail(m.running().Obituary())
			case <-ctx.Done():
			}
		}()
	}
	return c.nodes.awaitReady(ctx, names)
}

// Close ends all machines at once.
func (c *Cloud) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	var ending sync.WaitGroup
	for _, m := range c.list() {
		ending.Add(1)
		go func() {
			defer ending.Done()
			m.kill()
		}()
	}
	ending.Wait()
}

// Ready is as in control.Operations.
func (c *Cloud) Ready(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Nodes is as in control.Operations.
func (c *Cloud) Nodes(context.Context) ([]control.Node, error) {
	nodes := []control.Node{}
	for _, m := range c.list() {
		nodes = append(nodes, m.describe())
	}
	slices.SortFunc(nodes, func(a, b control.Node) int { return cmp.Compare(a.Name, b.Name) })
	return nodes, nil
}

func (c *Cloud) list() (machines []*machine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.machines {
		machines = append(machines, m)
	}
	return machines
}

func (c *Cloud) find(name string) (*machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.machines[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("there is no node %q: see `sailor-cluster node list`", name)
}

// address returns the address of a node, if the node belongs to this cluster.
func (c *Cloud) address(name string) (string, bool) {
	m, err := c.find(name)
	if err != nil {
		return "", false
	}
	return m.spec.IP(), true
}
