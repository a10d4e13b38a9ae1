package chart

import (
	"path/filepath"
	"strings"
	"testing"

	"sailor.dev/tests/ociregistry"
)

func TestAPackagePushedToARegistryInstallsWhatTheFolderDoes(t *testing.T) {
	folder, charts := t.TempDir(), "oci://"+ociregistry.Start(t)+"/charts"
	helm(t, "package", chartFolder(), "--destination", folder)
	packages, err := filepath.Glob(filepath.Join(folder, "sailor-*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("helm made the packages %v (%v)", packages, err)
	}
	helm(t, "push", packages[0], charts, "--plain-http")

	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(packages[0]), "sailor-"), ".tgz")
	install(t, charts+"/sailor", "--version", version, "--plain-http")
	pushed := helm(t, "get", "manifest", release, "--namespace", namespace)
	rendered, err := template(t, "--no-hooks")
	if err != nil {
		t.Fatal(err)
	}
	if withoutSpace(rendered) != withoutSpace(pushed) {
		t.Errorf("the package installs something else than the folder: %d and %d characters", len(pushed), len(rendered))
	}
	if names, err := definitions(testContext(t)); err != nil || len(names) != 4 {
		t.Errorf("the package brings the definitions %v (%v)", names, err)
	}
}

func withoutSpace(text string) string { return strings.Join(strings.Fields(text), " ") }
