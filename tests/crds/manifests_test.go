package crds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const leastRefusals = 25 // fewer files than that were not found

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s finds no file: %v", pattern, err)
	}
	return found
}

func TestEveryExampleIsAccepted(t *testing.T) {
	for _, file := range files(t, filepath.Join(folder, "examples", "*.yaml")) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			kubectl(t, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file)
			kubectl(t, "apply", "-f", file)
			kubectl(t, "delete", "-f", file)
		})
	}
}

// Each file begins with `# expect: PART OF THE MESSAGE`.
func TestEveryWrongManifestIsRefusedWithItsRemedy(t *testing.T) {
	wrong := files(t, filepath.Join("invalid", "*.yaml"))
	if len(wrong) < leastRefusals {
		t.Fatalf("there are %d wrong manifests, at least %d were expected", len(wrong), leastRefusals)
	}
	for _, file := range wrong {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { mustBeRefused(t, file) })
	}
}

func mustBeRefused(t *testing.T, file string) {
	t.Parallel()
	manifest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(manifest), "\n")
	message, found := strings.CutPrefix(first, "# expect: ")
	if !found || message == "" {
		t.Fatalf("%s does not begin with `# expect: PART OF THE MESSAGE`", file)
	}
	_, err = cluster.Kubectl(testContext(t), "apply", "--dry-run=server", "-f", file) // strict is the default
	if err == nil {
		t.Fatalf("%s was accepted", file)
	}
	if !strings.Contains(err.Error(), message) {
		t.Errorf("the message lacks %q:\n%v", message, err)
	}
}

func TestADefinitionFitsIntoAnAnnotation(t *testing.T) {
	const limit = 256 * 1024
	for _, file := range files(t, filepath.Join(folder, "*.yaml")) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() >= limit {
			t.Errorf("%s has %d bytes; a plain kubectl apply takes less than %d", file, info.Size(), limit)
		}
	}
}
