package reference

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
)

var update = flag.Bool("update", false, "write docs/reference.md")

func page(t *testing.T) (file, text string) {
	t.Helper()
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err = Page(root)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "docs", "reference.md"), text
}

func TestTheReferenceIsThatOfTheDefinitions(t *testing.T) {
	file, want := page(t)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/reference.md is older than the definitions in crds; `go test ./reference -update` in tests makes it anew")
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	_, text := page(t)
	for _, row := range strings.Split(text, "\n") {
		if cells := strings.Split(row, "|"); strings.HasPrefix(row, "| ") && len(cells) == 5 && strings.TrimSpace(cells[3]) == "" {
			t.Errorf("the definition of %s has no description", strings.TrimSpace(cells[1]))
		}
	}
}
