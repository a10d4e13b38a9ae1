package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is the path of one of the programs in build/bin.
func (c *Cluster) Program(name string) string { return filepath.Join(c.bin, name) }

// Kubectl runs kubectl as an administrator and returns its standard output. The error contains its other output.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, nil, "kubectl", args...)
}

// KubectlWithInput is Kubectl with a standard input, for `apply -f -`.
func (c *Cluster) KubectlWithInput(ctx context.Context, input string, args ...string) (string, error) {
	return c.run(ctx, strings.NewReader(input), "kubectl", args...)
}

// Helm runs helm as an administrator. Its own files are kept in the cluster's folder.
func (c *Cluster) Helm(ctx context.Context, args ...string) (string, error) {
	return c.run(ctx, nil, "helm", args...)
}

// Environment returns the environment for programs that use the cluster.
func (c *Cluster) Environment() []string {
	return append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+c.bin+":"+os.Getenv("PATH"), "SAILOR_CLUSTER_DIR="+c.Dir,
		"HELM_CACHE_HOME="+filepath.Join(c.Dir, "helm", "cache"),
		"HELM_CONFIG_HOME="+filepath.Join(c.Dir, "helm", "config"),
		"HELM_DATA_HOME="+filepath.Join(c.Dir, "helm", "data"))
}

func (c *Cluster) run(ctx context.Context, input *strings.Reader, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Program(program), args...)
	cmd.Env = c.Environment()
	if input != nil {
		cmd.Stdin = input
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}
