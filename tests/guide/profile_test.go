package guide

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sailor.dev/tests/trainingjob"
)

func TestAModelIsMeasuredInTheClusterAsThePageAboutTheTrainerSays(t *testing.T) {
	r := newReader(t, "trainer.md")
	if _, err := r.cluster.Kubectl(t.Context(), "apply", "-f", filepath.Join(repositoryRoot(t), "crds")); err != nil {
		t.Fatal(err)
	}
	// The model of the page takes minutes on a processor.
	small := filepath.Join(r.desk, "small.yaml")
	if err := os.WriteFile(small, []byte(trainingjob.Small{Name: "small", Steps: 1}.Manifest()), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range r.page {
		r.page[i].commands = strings.ReplaceAll(r.page[i].commands, "crds/examples/gke-l4.yaml", small)
	}
	r.variables = "export REGISTRY=example.com/sailor\n"
	r.follow("^Profiles of your machines$")
	profile, err := r.cluster.Kubectl(t.Context(), "get", "modelprofiles", "-o", "yaml")
	if err != nil || !regexp.MustCompile(`(?s)accelerator: nvidia-l4.*forwardSeconds:`).MatchString(profile) {
		t.Errorf("the cluster has the profiles %s (%v)", profile, err)
	}
}
