package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
)

const begin, end = "<!-- values: begin -->\n", "\n<!-- values: end -->"

func TestTheReadmeOfTheChartHasAllValues(t *testing.T) {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Values(root)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "charts", "sailor", "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, hasBegin := strings.Cut(string(text), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s lacks the lines %q and %q", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Error("charts/sailor/README.md is older than values.yaml; `go test ./reference -update` in tests makes its table anew")
	}
	for line := range strings.Lines(want) {
		name, meaning, isValue := strings.Cut(strings.TrimPrefix(line, "| `"), "` | `")
		group := name[:max(0, strings.LastIndex(name, "."))]
		isExplained := strings.Contains(want, "| **`"+group+"`** |")
		if isValue && strings.HasSuffix(strings.TrimSpace(meaning), "` | |") && !isExplained {
			t.Errorf("values.yaml does not say what %s means", name)
		}
	}
}
