// Package e2e tests the whole system on a local Kubernetes: the operator installed by helm, real trainers in the pods.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
)

var (
	cluster   *testcluster.Cluster
	poolSizes map[string]int // the nodes that each test finds
)

// quick are helm's arguments for an operator that is quick to make a voluntary change, and to give up a pod that does not start: there are
// tests of both.
var quick = []string{"--set", "coolDownSeconds=2,podStartLimitSeconds=15"}

func TestMain(m *testing.M) {
	config, err := testcluster.GKE()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testcluster.Main(m, testcluster.Options{ConfigFile: config}, func(c *testcluster.Cluster) {
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
