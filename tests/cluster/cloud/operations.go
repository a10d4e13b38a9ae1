package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/controlplane"
	"sailor.dev/tests/cluster/node"
)

// Add is as in control.Operations.
func (c *Cloud) Add(_ context.Context, poolName string) (string, error) {
	pool, err := c.pool(poolName)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", errors.New("the cluster is being stopped")
	}
	m, err := c.newMachine(pool)
	if err != nil {
		return "", err
	}
	c.machines[m.spec.Name] = m // set before the machine boots, because the node controller looks for it
	if err := m.boot(controlplane.LogDir(c.cp.Dir)); err != nil {
		c.forget(m)
		return "", err
	}
	return m.spec.Name, nil
}

func (c *Cloud) pool(name string) (config.NodePool, error) {
	var names []string
	for _, pool := range c.config.NodePools {
		if pool.Name == name {
			return pool, nil
		}
		names = append(names, pool.Name)
	}
	return config.NodePool{}, fmt.Errorf("there is no node pool %q; there are %s", name, strings.Join(names, ", "))
}

// newMachine takes the lowest free number of the pool for its name, so that names are used again as on GKE. The caller holds
// c.mu.
func (c *Cloud) newMachine(pool config.NodePool) (*machine, error) {
	number := 0
	for c.machines[fmt.Sprintf("%s-%d", pool.Name, number)] != nil {
		number++
	}
	name := fmt.Sprintf("%s-%d", pool.Name, number)
	subnet, err := c.subnets.Take()
	if err != nil {
		return nil, fmt.Errorf("adding a node to %s: %w", pool.Name, err)
	}
	m := &machine{pacer: c.pacer, slowdown: 1, spec: node.Spec{
		Name: name, Dir: filepath.Join(c.cp.Dir, "nodes", name), PKI: filepath.Join(c.cp.Dir, "pki"),
		Network: c.cp.Network, Subnet: subnet, APIServerPort: c.cp.Port,
		Pool: pool, Images: c.config.Images, HostPaths: c.config.HostPaths}}
	if err := m.issueIdentity(c.cp); err != nil {
		c.subnets.Release(subnet)
		return nil, err
	}
	return m, nil
}

// forget releases the machine's name and addresses. The caller holds c.mu.
func (c *Cloud) forget(m *machine) {
	delete(c.machines, m.spec.Name)
	c.subnets.Release(m.spec.Subnet)
}

// Kill is as in control.Operations.
func (c *Cloud) Kill(_ context.Context, name string) error {
	m, err := c.find(name)
	if err != nil {
		return err
	}
	m.kill()
	return nil
}

// Start is as in control.Operations.
func (c *Cloud) Start(_ context.Context, name string) error {
	m, err := c.find(name)
	if err != nil {
		return err
	}
	c.mu.Lock() // excludes stopping the cluster at the same time
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("the cluster is being stopped")
	}
	return m.boot(controlplane.LogDir(c.cp.Dir))
}

// Freeze is as in control.Operations.
func (c *Cloud) Freeze(_ context.Context, name string) error {
	m, err := c.find(name)
	if err != nil {
		return err
	}
	return m.setFrozen(true)
}

// Thaw is as in control.Operations.
func (c *Cloud) Thaw(_ context.Context, name string) error {
	m, err := c.find(name)
	if err != nil {
		return err
	}
	return m.setFrozen(false)
}

// Slow is as in control.Operations.
func (c *Cloud) Slow(_ context.Context, name string, factor float64) error {
	if !(factor >= 1 && factor <= 1000) {
		return fmt.Errorf("a factor of %g: it is how many times as long the GPUs of node %q take as usual, from 1 to 1000", factor, name)
	}
	m, err := c.find(name)
	if err != nil {
		return err
	}
	return m.setSlowdown(factor)
}

// Delete is as in control.Operations.
func (c *Cloud) Delete(_ context.Context, name string) error {
	m, err := c.find(name)
	if err != nil {
		return err
	}
	m.kill()
	return c.remove(m)
}

// remove takes a machine that has ended out of the cluster. Two may want that, a preemption and a deletion: it is done
// once, so that it cannot hit the machine that has the name next. The caller may go away meanwhile.
func (c *Cloud) remove(m *machine) error {
	m.removal.Do(func() {
		// First the Node object, then the name: a new machine must not take over the old one's identity.
		err := c.cp.Client.CoreV1().Nodes().Delete(context.Background(), m.spec.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			m.removalError = fmt.Errorf("deleting the Node of %s: %w", m.spec.Name, err)
			return
		}
		m.removalError = os.RemoveAll(m.spec.Dir)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forget(m)
	})
	return m.removalError
}

// Preempt is as in control.Operations. It completes what it has begun even if its caller goes away.
func (c *Cloud) Preempt(_ context.Context, name string, grace time.Duration) error {
	m, err := c.find(name)
	if err != nil {
		return err
	}
	if err := m.beginPreemption(); err != nil {
		return err
	}
	end := time.Now().Add(grace)
	notice := corev1.Taint{Key: config.TaintTermination, Effect: corev1.TaintEffectNoSchedule}
	if err := c.nodes.addTaint(context.Background(), name, notice); err != nil {
		m.cancelPreemption()
		return err
	}
	m.shutDown(end)
	return c.remove(m)
}
