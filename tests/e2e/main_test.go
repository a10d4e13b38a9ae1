// Package e2e tests the whole system on a local Kubernetes: the operator installed by helm, real trainers in the pods.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
)

var (
	cluster   *testcluster.Cluster
	poolSizes map[string]int // the nodes that each test finds
)

// quick are helm's arguments for an operator that is quick to make a voluntary change, and to give up a pod that does not start: there are
// tests of both. On a busy machine a pod needs more than 15 s until its workers have loaded LibTorch.
var quick = []string{"--set", "coolDownSeconds=2,podStartLimitSeconds=45"}

// gkeWithElasticPools is the cluster of the demo, with pools that have no nodes until an autoscaler makes some.
func gkeWithElasticPools() (c config.Config, err error) {
	file, err := testcluster.GKE()
	if err != nil {
		return c, err
	}
	if c, err = config.Load(file); err != nil {
		return c, err
	}
	for _, pool := range []elasticPool{elasticL4, elasticT4} {
		c.NodePools = append(c.NodePools, config.NodePool{Name: pool.name, MaxCount: 3, Region: pool.region, Zone: pool.zone,
			MachineType: "n1-standard-4", CPU: 4, Memory: "15Gi", Accelerator: pool.accelerator, GPUs: 1, Spot: true})
	}
	c.Autoscaler = config.Autoscaler{ProvisionTime: "5s", IdleTime: "10s"}
	for i := range c.NodePools {
		c.NodePools[i].SyncFrequency = "5s" // tests wait until pods see a Secret that has changed
	}
	return c, nil
}

func TestMain(m *testing.M) {
	c, err := gkeWithElasticPools()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testcluster.Main(m, testcluster.Options{Config: c}, func(c *testcluster.Cluster) {
		cluster = c
		if err := installation.ForSmallJobs(context.Background(), c, quick...); err != nil {
			fmt.Fprintln(os.Stderr, "installing the operator:", err)
		}
		var err error
		if poolSizes, err = readyNodesByPool(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "counting the nodes:", err)
		}
	}))
}
