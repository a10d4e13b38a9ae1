// Package installation installs the operator into a local cluster, for the tests, the benchmarks and the demo.
package installation

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

// Namespace is where the operator is installed.
const Namespace = "sailor-system"

// Accelerators are the accelerators of tests/cluster/gke.yaml. Here each GPU is a worker process on this machine's processor, so all
// types have the same profile and differ in their price.
var Accelerators = []string{"nvidia-l4", "nvidia-tesla-t4"}

// Settings are helm's arguments for an operator on the local cluster: a single replica, because another one would only wait and take
// memory, and a status page at the address of the pod, because all pods share the loopback address.
var Settings = []string{"--set", "replicas=1,statusPage.service=true"}

// Operator does what the README tells a user to do, with the Settings above. Further arguments are helm's, such as "--set",
// "coolDownSeconds=1".
func Operator(ctx context.Context, cluster *testcluster.Cluster, args ...string) error {
	return Release(ctx, cluster, "sailor", args...)
}

// Release is Operator under another name, of which there can be several in a cluster.
func Release(ctx context.Context, cluster *testcluster.Cluster, name string, args ...string) error {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		return err
	}
	install := []string{"install", name, filepath.Join(root, "charts", "sailor"), "--namespace", Namespace, "--create-namespace",
		"--wait", "--timeout", "2m"}
	_, err = cluster.Helm(ctx, slices.Concat(install, Settings, args)...)
	return err
}

// Pools declares what the GPUs of the local cluster cost.
func Pools(ctx context.Context, cluster *testcluster.Cluster) error {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		return err
	}
	_, err = cluster.Kubectl(ctx, "apply", "-f", filepath.Join(root, "tests", "demo", "pools.yaml"))
	return err
}

// MeasuredProfile has the trainer measure the model of a job on this machine, with as many workers at a time as will train. It returns
// a ModelProfile.
func MeasuredProfile(ctx context.Context, cluster *testcluster.Cluster, job, accelerator string, workers int) (string, error) {
	command := exec.CommandContext(ctx, cluster.Program("sailor-trainer"), "profile", "--job", job, "--accelerator", accelerator,
		"--concurrency", strconv.Itoa(workers))
	var said strings.Builder
	command.Stderr = &said
	manifest, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("measuring the model of %s for %s: %w: %s", job, accelerator, err, strings.TrimSpace(said.String()))
	}
	return string(manifest), nil
}

// ForSmallJobs installs all that a trainingjob.Small needs, also a Large one: the operator, the prices and the model's profiles.
func ForSmallJobs(ctx context.Context, cluster *testcluster.Cluster, args ...string) error {
	if err := Operator(ctx, cluster, args...); err != nil {
		return err
	}
	for _, accelerator := range Accelerators {
		profiles := trainingjob.SmallProfile(accelerator) + "---\n" + trainingjob.LargeProfile(accelerator)
		if _, err := cluster.KubectlWithInput(ctx, profiles, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	return Pools(ctx, cluster)
}
