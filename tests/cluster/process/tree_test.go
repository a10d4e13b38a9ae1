package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestTheParentIsFoundWhateverTheProcessIsCalled(t *testing.T) {
	for stat, want := range map[string]int{
		"42 (sh) S 7 42 42 0 -1": 7,
		"42 (a) S 1 b) R 9 42":   9,
		"42 ((x) 5 6) S 3 1":     3,
	} {
		if got, ok := parentIn([]byte(stat)); got != want || !ok {
			t.Errorf("%s: parent %d, %v", stat, got, ok)
		}
	}
	for _, stat := range []string{"", "42 (sh", "42 (sh) S", "42 (sh) S x"} {
		if got, ok := parentIn([]byte(stat)); ok {
			t.Errorf("%q has the parent %d", stat, got)
		}
	}
}

// family starts a shell with a child and returns the shell's process id when both run.
func family(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "sh -c 'echo started; exec sleep 1000' & wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		tree, _ := Tree(cmd.Process.Pid)
		for _, pid := range tree {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
		_ = cmd.Wait()
	})
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the child has not started")
	}
	return cmd.Process.Pid
}

func states(t *testing.T, root int) (letters []string) {
	t.Helper()
	tree, err := Tree(root)
	if err != nil || len(tree) != 2 {
		t.Fatalf("the tree of %d is %v (%v)", root, tree, err)
	}
	for _, pid := range tree {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		letters = append(letters, strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[0])
	}
	return letters
}

func TestAFrozenTreeIsStoppedAsAWholeAndThawsAsAWhole(t *testing.T) {
	root := family(t)
	if err := Freeze(root); err != nil {
		t.Fatal(err)
	}
	if got := states(t, root); !slices.Equal(got, []string{"T", "T"}) {
		t.Errorf("frozen: %v", got)
	}
	if err := Thaw(root); err != nil {
		t.Fatal(err)
	}
	if got := states(t, root); slices.Contains(got, "T") {
		t.Errorf("thawed: %v", got)
	}
}
