package guide

import (
	"context"
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
	cluster := startCluster(t, testcluster.Options{ConfigFile: file})
	must := func(output string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	teams := []string{"red", "blue"}
	for i, team := range teams {
		must(cluster.Kubectl(ctx, "create", "namespace", team))
		values := "watchNamespaces={" + team + "},crds.enabled=" + strconv.FormatBool(i == 0)
		must("", installation.Release(ctx, cluster, team, "--set", values))
	}
	for _, team := range teams {
		must(cluster.Helm(ctx, "test", team, "--logs", "--namespace", installation.Namespace))
		job := trainingjob.Small{Name: "job", Steps: 60, Resources: "{maxGpus: 4}"}
		must(cluster.KubectlWithInput(ctx, job.Manifest(), "--namespace", team, "apply", "-f", "-"))
	}
	for _, team := range teams {
		must(cluster.Kubectl(ctx, "--namespace", team, "wait", "trainingjob/job", "--for=condition=Complete", "--timeout=2m"))
	}
}
