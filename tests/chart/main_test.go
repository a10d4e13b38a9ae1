// Package chart tests charts/sailor with a real helm on a real Kubernetes: what it renders, installs, upgrades and leaves.
// The cluster has no nodes, so no pod runs here. tests/e2e installs the chart to use it.
package chart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/cluster/testcluster"
)

const (
	release   = "sailor"
	namespace = "sailor-system"
	operator  = "system:serviceaccount:" + namespace + ":" + release
)

var (
	cluster *testcluster.Cluster
	root    string // the root folder of the repository
)

func TestMain(m *testing.M) {
	os.Exit(testcluster.MainWithoutNodes(m, func(c *testcluster.Cluster, repository string) { cluster, root = c, repository }))
}

func chartFolder() string { return filepath.Join(root, "charts", "sailor") }

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// helm and kubectl end the test if they fail.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	output, err := cluster.Helm(testContext(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := cluster.Kubectl(testContext(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// template renders the chart without asking the cluster.
func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return cluster.Helm(testContext(t), append([]string{"template", release, chartFolder(), "--namespace", namespace, "--kube-version", "1.34.0"}, args...)...)
}

// install makes the release from a folder, and removes all of it with the test.
func install(t *testing.T, folder string, args ...string) {
	t.Helper()
	helm(t, append([]string{"install", release, folder, "--namespace", namespace, "--create-namespace"}, args...)...)
	t.Cleanup(func() {
		helm(t, "uninstall", release, "--namespace", namespace, "--ignore-not-found", "--wait")
		deleteDefinitions(t)
		kubectl(t, "delete", "namespace", namespace, "--ignore-not-found", "--wait")
	})
	untilServed(t)
}

// untilServed waits until the new kinds can be listed. A definition that is deleted before that stays: the API server
// gives up on "storage is (re)initializing".
func untilServed(t *testing.T) {
	t.Helper()
	if err := testcluster.AwaitDefinitions(testContext(t), cluster); err != nil {
		t.Fatal(err)
	}
}

// deleteDefinitions returns when they are gone. Kubernetes 1.34 may forget a definition in the middle of its deletion: if
// its instances cannot be listed at first (an upgrade has just replaced their storage), the second attempt conflicts with
// the first one's note of that, and nothing but a change to the definition, or five minutes, brings about a third. Hence
// the annotation.
func deleteDefinitions(t *testing.T) {
	t.Helper()
	attempt := 0
	testcluster.Eventually(t, time.Minute, "the definitions to go", func(ctx context.Context) (bool, error) {
		names, err := definitions(ctx)
		if err != nil || len(names) == 0 {
			return err == nil, err
		}
		attempt++
		annotation := fmt.Sprintf("sailor.dev/deletion-attempt=%d", attempt)
		if _, err := cluster.Kubectl(ctx, append(append([]string{"annotate", "--overwrite"}, names...), annotation)...); err != nil {
			return false, err
		}
		_, err = cluster.Kubectl(ctx, append([]string{"delete", "--ignore-not-found", "--wait=false"}, names...)...)
		return false, err
	})
}

// definitions names ours that the cluster has, as kubectl takes them.
func definitions(ctx context.Context) ([]string, error) {
	output, err := cluster.Kubectl(ctx, "get", "crd", "-o", "name")
	var names []string
	for _, name := range strings.Fields(output) {
		if strings.HasSuffix(name, ".sailor.dev") {
			names = append(names, name)
		}
	}
	return names, err
}
