package guide

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

// What the README of the chart says of several releases.
func TestTwoReleasesInOneNamespaceRunTheJobsOfTheirOwnNamespacesBesideEachOther(t *testing.T) {
	file, err := testcluster.GKE()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cluster, err := testcluster.Start(ctx, testcluster.Options{ConfigFile: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	must := func(output string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	chart := filepath.Join(repositoryRoot(t), "charts", "sailor")
	inNamespace := []string{"--namespace", installation.Namespace}
	teams := []string{"red", "blue"}
	for i, team := range teams {
		must(cluster.Kubectl(ctx, "create", "namespace", team))
		install := []string{"install", team, chart, "--create-namespace", "--set", "crds.enabled=" + strconv.FormatBool(i == 0),
			"--set", "watchNamespaces={" + team + "}"}
		must(cluster.Helm(ctx, slices.Concat(install, inNamespace, installation.Settings)...))
	}
	for _, team := range teams {
		must(cluster.Helm(ctx, slices.Concat([]string{"test", team, "--logs"}, inNamespace)...))
		job := trainingjob.Small{Name: "job", Steps: 60, Resources: "{maxGpus: 4}"}
		must(cluster.KubectlWithInput(ctx, job.Manifest(), "--namespace", team, "apply", "-f", "-"))
	}
	for _, team := range teams {
		must(cluster.Kubectl(ctx, "--namespace", team, "wait", "trainingjob/job", "--for=condition=Complete", "--timeout=2m"))
	}
}
