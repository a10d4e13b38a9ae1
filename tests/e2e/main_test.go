// Package e2e tests the whole system on a local Kubernetes: the operator installed by helm, real trainers in the pods.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	config, err := testcluster.GKE()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(testcluster.Main(m, testcluster.Options{ConfigFile: config}, func(c *testcluster.Cluster) {
		cluster = c
		if err := install(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "installing the operator:", err)
		}
	}))
}

// install is what the README tells a user to do, with the prices of the demo.
func install(ctx context.Context) error {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		return err
	}
	_, helm := cluster.Helm(ctx, "install", "sailor", filepath.Join(root, "charts", "sailor"),
		"--namespace", "sailor-system", "--create-namespace", "--wait", "--timeout", "2m")
	_, pools := cluster.Kubectl(ctx, "apply", "-f", filepath.Join(root, "tests", "demo", "pools.yaml"))
	for _, accelerator := range []string{"nvidia-l4", "nvidia-tesla-t4"} {
		_, profile := cluster.KubectlWithInput(ctx, trainingjob.SmallProfile(accelerator), "apply", "-f", "-")
		pools = errors.Join(pools, profile)
	}
	return errors.Join(helm, pools)
}
