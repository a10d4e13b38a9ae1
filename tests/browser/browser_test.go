package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
)

const badPage = `<!doctype html>
<html lang="en"><head><title>bad</title><style>
:root { color-scheme: light dark }
@media (prefers-color-scheme: dark) { p { background: #111; color: #222 } }
body { margin: 0 }
div { width: 700px }
</style></head><body><main><h1>Bad</h1><div><p>This cannot be read in the dark.</p></div><img src="data:,"></main></body></html>`

func TestWhatIsWrongWithAPageIsFoundWhereItIsWrong(t *testing.T) {
	found := findings(t, badPage)
	for _, expected := range []struct {
		where, what string
		is          bool
	}{
		{"light, 360", "340 pixels wider", true}, {"dark, 360", "340 pixels wider", true}, {"light, 1280", "wider", false},
		{"dark, 1280", "color-contrast", true}, {"dark, 360", "color-contrast", true}, {"light, 1280", "color-contrast", false},
		{"light, 1280", "image-alt", true},
	} {
		is := slices.ContainsFunc(found, func(text string) bool {
			return strings.HasPrefix(text, expected.where) && strings.Contains(text, expected.what)
		})
		if is != expected.is {
			t.Errorf("%s: %q was found: %v", expected.where, expected.what, is)
		}
	}
	if t.Failed() {
		t.Logf("all that was found:\n%s", strings.Join(found, "\n"))
	}
}

func TestPagesOfTheCommandLineFitAPhoneAndHaveNothingThatAxeCallsSerious(t *testing.T) {
	find(t)
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "spot.json")
	if err := os.WriteFile(trace, []byte(`{"metadata": {"gap_seconds": 600}, "data": [8, 8, 3, 0, 5, 8]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	question := []string{"-f", "crds/examples/opt-350m.yaml", "--cluster", "crds/examples/cluster.yaml"}
	for name, arguments := range map[string][]string{
		"plan":   append(question, "--profiles", "crds/examples"),
		"replay": append(question, "--trace", "us-central1-b/nvidia-tesla-t4/spot="+trace, "--policy", "all"),
		"paper":  {"../shared/data/sailor-artifact"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(root, arguments[0])); name == "paper" && err != nil {
				t.Skip(err)
			}
			command := exec.Command(filepath.Join(root, "build", "bin", "sailor"), append(append([]string{name}, arguments...), "-o", "html")...)
			command.Dir = root
			page, err := command.Output()
			if err != nil {
				t.Fatalf("sailor %s: %v", name, err)
			}
			Check(t, name, string(page))
		})
	}
}
