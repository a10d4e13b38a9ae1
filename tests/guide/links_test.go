package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestTheNetworkIsMeasuredInTheClusterAsThePageAboutTheTrainerSays(t *testing.T) {
	r := newReader(t, "trainer.md")
	r.variables = "export REGISTRY=example.com/sailor\n"
	r.follow("^Figures of your network$")
	values := filepath.Join(r.desk, "network-values.yaml")
	measured, err := os.ReadFile(values)
	if err != nil || !regexp.MustCompile(`(?s)^networkModel:\n.*from: us-central1-a, to: us-central1-b, gigabytesPerSecond:.*measured: true`).Match(measured) {
		t.Errorf("the chart would get %s (%v)", measured, err)
	}
	chart := filepath.Join(r.desk, "charts", "sailor")
	if _, err := r.cluster.Helm(t.Context(), "template", "sailor", chart, "--kube-version", "1.34", "--values", values); err != nil {
		t.Errorf("the chart does not take what was measured: %v", err)
	}
	if left, err := r.cluster.Kubectl(t.Context(), "get", "jobs,pods", "-o", "name"); err != nil || left != "" {
		t.Errorf("it leaves %s (%v)", left, err)
	}
}
