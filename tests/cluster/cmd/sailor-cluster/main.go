// sailor-cluster runs a real Kubernetes control plane and real kubelets on one machine. There is no container runtime
// to install: containers are local processes.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	etcd "go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"sailor.dev/tests/cluster/controlplane"
	"sailor.dev/tests/cluster/kubelet"
)

// components are the programs that this one binary also is, under their own names; `up` starts them so.
var components = map[string]func() int{
	"etcd":                    func() int { etcd.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(kubeapiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(kubecontrollermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(kubescheduler.NewSchedulerCommand()) },
	"kubelet":                 func() int { return status(kubelet.Run(os.Args[1])) },
	"kubectl":                 runKubectl,
}

func main() {
	name := filepath.Base(os.Args[0])
	if components[name] == nil && len(os.Args) > 1 && os.Args[1] == "kubectl" { // works without the link too
		name, os.Args = "kubectl", os.Args[1:]
	}
	if run := components[name]; run != nil {
		os.Exit(run())
	}
	os.Exit(status(rootCommand().Execute()))
}

// runKubectl runs kubectl for the cluster of SAILOR_CLUSTER_DIR, unless KUBECONFIG is set.
func runKubectl() int {
	if dir := os.Getenv(dirVariable); dir != "" && os.Getenv("KUBECONFIG") == "" {
		os.Setenv("KUBECONFIG", controlplane.AdminKubeconfig(dir))
	}
	return cli.Run(kubectl.NewDefaultKubectlCommand())
}

func status(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "sailor-cluster:", err)
	return 1
}
