package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sailor.dev/tests/installation"
)

// workers train at the same time when the job uses all GPUs of tests/cluster/gke.yaml.
const workers = 8

func (d *demo) file(parts ...string) string {
	return filepath.Join(append([]string{d.root}, parts...)...)
}

func (d *demo) install(ctx context.Context, options options) error {
	var settings []string
	if options.straggler { // a change of plan soon after the start of the job
		settings = []string{"--set", "coolDownSeconds=5"}
	}
	d.screen.step(strings.Join(append([]string{"Installing the operator: helm install sailor charts/sailor"}, settings...), " "))
	if err := installation.Operator(ctx, d.cluster, settings...); err != nil {
		return err
	}
	d.screen.step("Declaring the pools' prices, and measuring the model's layers on this machine")
	if err := installation.Pools(ctx, d.cluster); err != nil {
		return err
	}
	for _, accelerator := range installation.Accelerators {
		profile, err := installation.MeasuredProfile(ctx, d.cluster, d.quickstart(), accelerator, workers)
		if err != nil {
			return err
		}
		if _, err := d.cluster.KubectlWithInput(ctx, profile, "apply", "-f", "-"); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) quickstart() string { return d.file("crds", "examples", "quickstart.yaml") }

func (d *demo) applyJob(ctx context.Context) error {
	d.screen.step("Applying crds/examples/quickstart.yaml")
	if err := os.RemoveAll(d.checkpoints()); err != nil {
		return err
	}
	if d.patch == "" {
		_, err := d.cluster.Kubectl(ctx, "apply", "-f", d.quickstart())
		return err
	}
	patched, err := d.cluster.Kubectl(ctx, "patch", "--local", "-f", d.quickstart(), "--type=merge", "-p", d.patch, "-o", "yaml")
	if err != nil {
		return err
	}
	_, err = d.cluster.KubectlWithInput(ctx, patched, "apply", "-f", "-")
	return err
}

// checkpoints returns the folder for the checkpoints of the quickstart on its nodes, which are this machine. Checkpoints of
// an earlier run are deleted.
func (d *demo) checkpoints() string { return filepath.Join(os.TempDir(), "sailor-quickstart") }

func (d *demo) printHints(headline string) {
	fmt.Printf(`
%s

  export KUBECONFIG=%s
  export PATH=%s:$PATH
  kubectl get trainingjobs -A                 # or: kubectl get tj
  kubectl describe tj %s
  kubectl logs -l sailor.dev/job-name=%s --prefix
  kubectl -n sailor-system logs deployment/sailor
  xdg-open http://$(kubectl -n sailor-system get pods -o jsonpath='{.items[0].status.podIP}'):8083/   # all jobs, their plans and costs
  kubectl apply -f crds/examples/quickstart.yaml   # once more: kubectl delete tj %s before
  sailor-cluster --dir %s node list
  sailor-cluster --dir %s node preempt NODE
`, headline, d.cluster.Kubeconfig, filepath.Join(d.root, "build", "bin"), jobName, jobName, jobName, d.clusterDir(), d.clusterDir())
}
