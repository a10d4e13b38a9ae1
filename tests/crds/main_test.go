// Package crds tests the custom resource definitions against a real API server: what it accepts, refuses and shows.
package crds

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sailor.dev/tests/cluster/testcluster"
)

var (
	cluster *testcluster.Cluster
	folder  string // the folder of the definitions
)

// TestMain runs a control plane without nodes, because no test here runs a pod.
func TestMain(m *testing.M) {
	os.Exit(testcluster.MainWithoutNodes(m, func(c *testcluster.Cluster, root string) {
		cluster, folder = c, filepath.Join(root, "crds")
		if err := install(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "installing the definitions:", err)
		}
	}))
}

// install is a plain client-side apply, which keeps a copy in an annotation and so has a limit of 256 KiB.
func install(ctx context.Context) error {
	if _, err := cluster.Kubectl(ctx, "apply", "--validate=strict", "-f", folder); err != nil {
		return err
	}
	return testcluster.AwaitDefinitions(ctx, cluster)
}

// kubectl runs it for a test, which it ends if kubectl fails.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := cluster.Kubectl(testContext(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
