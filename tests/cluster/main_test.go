package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
)

// shared is the cluster of gke.yaml. A test that disturbs a node adds its own.
var shared *testcluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(doomedDir) != "" {
		holdClusterUntilKilled()
	}
	c, folder, err := gkeWithMore()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	status := testcluster.Main(m, testcluster.Options{Config: c}, func(c *testcluster.Cluster) { shared = c })
	os.RemoveAll(folder)
	os.Exit(status)
}

// elastic is a pool that the autoscaler changes.
const elastic = "elastic"

// gkeWithMore is gke.yaml with an autoscaled pool, and with an image whose program is in a folder of /tmp, as a fresh clone may be.
func gkeWithMore() (c config.Config, folder string, err error) {
	file, err := testcluster.GKE()
	if err != nil {
		return c, "", err
	}
	if c, err = config.Load(file); err != nil {
		return c, "", err
	}
	if folder, err = os.MkdirTemp("", "sailor-greeter-"); err != nil {
		return c, "", err
	}
	c.NodePools = append(c.NodePools, config.NodePool{Name: elastic, MaxCount: 2, Accelerator: "nvidia-h100-80gb", GPUs: 1})
	c.Autoscaler = config.Autoscaler{ProvisionTime: "1s", IdleTime: "2s", Backoff: "3s"}
	c.HostPaths = append(c.HostPaths, folder)
	c.Images = append(c.Images, config.Image{Name: "*greeter*", Entrypoint: []string{filepath.Join(folder, "greet")}, Path: []string{folder},
		Env: map[string]string{"GREETING": "hello", "NAME": "image"}})
	script := "#!/bin/sh\necho \"$GREETING $NAME: $*\"; command -v greet; echo changed > \"$0\"\n"
	return c, folder, os.WriteFile(filepath.Join(folder, "greet"), []byte(script), 0o755)
}
