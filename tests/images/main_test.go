package images

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
)

var (
	cluster  *testcluster.Cluster
	folder   string // of the images' file systems
	noImages string // the reason why there are none; empty: there are some
)

// clusterOfImages is a small cluster whose pods run from the images.
func clusterOfImages(root string) config.Config {
	return config.Config{Root: root, NodePools: []config.NodePool{
		{Name: "system", Count: 1, CPU: 4, Memory: "16Gi"},
		{Name: "l4", Count: 2, CPU: 24, Memory: "96Gi", Accelerator: "nvidia-l4", GPUs: 1},
	}, Images: []config.Image{
		{Name: "sailor-operator:*", Root: filepath.Join(folder, operator), Entrypoint: []string{"/usr/local/bin/sailor-operator"}},
		{Name: "sailor-trainer-cpu:*", Root: filepath.Join(folder, trainer), Entrypoint: []string{"/usr/local/bin/sailor-trainer"}},
	}}
}

func TestMain(m *testing.M) {
	_, noDebian := exec.LookPath("dpkg-query")
	if os.Geteuid() != 0 || noDebian != nil {
		noImages = "images are made of Debian's packages, and run with their own file system and user only for root"
		os.Exit(m.Run())
	}
	root, err := testcluster.RepositoryRoot()
	if err == nil {
		folder, err = makeImages(root, operator, trainer)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(testcluster.Main(m, testcluster.Options{Config: clusterOfImages(root)}, func(c *testcluster.Cluster) {
		cluster = c
		if err := installation.ForSmallJobs(context.Background(), c, "--set", "trainerImage.repository=sailor-trainer-cpu"); err != nil {
			fmt.Fprintln(os.Stderr, "installing the operator from its image:", err)
		}
	}))
}
