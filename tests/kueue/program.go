package kueue

import (
	"context"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"sailor.dev/tests/cluster/testcluster"
)

// program is Kueue's manager, and the folder with the sources from which it was compiled.
type program struct{ manager, sources string }

var goDirective = regexp.MustCompile(`(?m)^go (.*)$`)

// compile builds the manager into build/bin. Go's cache makes that a matter of seconds if it was built on this machine before.
func (k *Kueue) compile(ctx context.Context) error {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		return err
	}
	module := filepath.Join(root, "tests", "tools", "kueue")
	if err := k.requireGo(filepath.Join(module, "go.mod")); err != nil {
		return err
	}
	k.program.manager = filepath.Join(root, "build", "bin", "kueue")
	if _, err := goIn(ctx, module, "build", "-ldflags=-s -w", "-o", k.program.manager, "sigs.k8s.io/kueue/cmd/kueue"); err != nil {
		return err
	}
	k.program.sources, err = goIn(ctx, module, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue")
	return err
}

// requireGo skips the test if Kueue needs a newer Go than the one that runs the test.
func (k *Kueue) requireGo(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	found := goDirective.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("%s does not say which Go it needs", file)
	}
	if needed := "go" + string(found[1]); version.Compare(runtime.Version(), needed) < 0 {
		k.t.Skipf("Kueue needs %s, and this is %s", needed, runtime.Version())
	}
	return nil
}

// goIn runs the go command in a folder and returns what it says.
func goIn(ctx context.Context, folder string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local")
	output, err := command.Output()
	if failure := (*exec.ExitError)(nil); errors.As(err, &failure) {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(failure.Stderr)))
	}
	return strings.TrimSpace(string(output)), err
}
