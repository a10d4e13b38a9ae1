package cloud

import (
	"context"
	"fmt"
	"time"

	"sailor.dev/tests/cluster/autoscaler"
	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
)

// Pools is as in control.Operations.
func (c *Cloud) Pools(context.Context) ([]control.Pool, error) {
	count := map[string]int{}
	for _, m := range c.list() {
		count[m.spec.Pool.Name]++
	}
	pools := []control.Pool{}
	c.scaler.use(func(a *autoscaler.Autoscaler) {
		for _, p := range c.config.NodePools {
			pools = append(pools, describePool(p, count[p.Name], a.Status(p.Name), time.Now()))
		}
	})
	return pools, nil
}

func describePool(p config.NodePool, count int, status autoscaler.Status, now time.Time) control.Pool {
	pool := control.Pool{Name: p.Name, Count: count, Upcoming: status.Requested, Stock: status.Stock}
	if p.Autoscales() {
		pool.Limits = &control.Limits{Min: p.Count, Max: p.MaxCount}
	}
	if now.Before(status.BackoffUntil) {
		pool.BackoffUntil = &status.BackoffUntil
	}
	return pool
}

// SetStock is as in control.Operations.
func (c *Cloud) SetStock(_ context.Context, pool string, machines int) error {
	if machines < 0 {
		return fmt.Errorf("a stock of %d machines: it is how many more machines the cloud can give to pool %q, 0 or more", machines, pool)
	}
	return c.setStock(pool, &machines)
}

// SetUnlimitedStock is as in control.Operations.
func (c *Cloud) SetUnlimitedStock(_ context.Context, pool string) error { return c.setStock(pool, nil) }

func (c *Cloud) setStock(name string, stock *int) error {
	pool, err := c.pool(name)
	if err != nil {
		return err
	}
	if !pool.Autoscales() {
		return fmt.Errorf("node pool %q has a fixed size, so that its stock makes no difference: give it a maxCount in the configuration", name)
	}
	c.scaler.use(func(a *autoscaler.Autoscaler) { a.SetStock(name, stock) })
	return nil
}
