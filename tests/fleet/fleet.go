// Package fleet runs the operator with as many jobs as a large cluster has. API server, etcd, scheduler, controllers and operator are real.
// Nodes, kubelets and trainers are simulated by this process: a pod that the scheduler has bound gets an address of its own, at which an agent
// answers the operator over mutual TLS, as docs/protocol.md describes. Nothing is computed.
package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/network"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

const (
	// Namespace is where the jobs are.
	Namespace = "fleet"

	jobLabel    = "sailor.dev/job-name"
	accelerator = "nvidia-l4"
	pool        = "l4"
)

// Fleet is a running cluster with the operator in it.
type Fleet struct {
	Cluster *testcluster.Cluster
	Jobs    *Jobs
	Agents  *Agents

	client  *kubernetes.Clientset // speaks protobuf
	objects dynamic.Interface
	claim   *network.Claim
	kubelet *kubelet
	end     context.CancelFunc
}

// Start returns when the operator is ready and the nodes exist, each of which has one GPU.
func Start(ctx context.Context, nodes int) (f *Fleet, err error) {
	f = &Fleet{}
	steps := []func(context.Context) error{f.startCluster, f.connect, f.makeNamespace, f.install, f.simulate,
		func(ctx context.Context) error { return f.AddNodes(ctx, nodes) }}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, f.Stop())
		}
	}
	return f, nil
}

// Stop ends all that Start has started.
func (f *Fleet) Stop() (err error) {
	if f.end != nil {
		f.end()
	}
	if f.Agents != nil {
		f.Agents.close()
	}
	if f.Cluster != nil {
		err = f.Cluster.Stop()
	}
	if f.claim != nil {
		f.claim.Close()
	}
	return err
}

// startCluster starts a cluster with one real node, on which the operator runs.
func (f *Fleet) startCluster(ctx context.Context) error {
	file, err := testcluster.GKE()
	if err != nil {
		return err
	}
	settings, err := config.Load(file)
	if err != nil {
		return err
	}
	settings.NodePools = []config.NodePool{{Name: "system", Count: 1}}
	settings.Args = map[string][]string{
		// Simulated nodes renew no Lease: 4,000 of them would write 400 times a second.
		"kube-controller-manager": {"--node-monitor-grace-period=24h"},
		// The default of 50 requests a second would be what limits how fast pods start.
		"kube-scheduler": {"--kube-api-qps=5000", "--kube-api-burst=5000"},
	}
	f.Cluster, err = testcluster.Start(ctx, testcluster.Options{Config: settings, Output: os.Stderr})
	return err
}

func (f *Fleet) connect(context.Context) (err error) {
	settings := rest.CopyConfig(f.Cluster.REST)
	if f.objects, err = dynamic.NewForConfig(settings); err != nil {
		return err
	}
	settings.ContentType = "application/vnd.kubernetes.protobuf"
	settings.AcceptContentTypes = settings.ContentType + ",application/json"
	if f.client, err = kubernetes.NewForConfig(settings); err != nil {
		return err
	}
	f.claim, err = network.NewClaim("")
	return err
}

func (f *Fleet) makeNamespace(ctx context.Context) error {
	for _, name := range []string{Namespace, bareNamespace, foreignNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := f.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// install installs the chart without a leader election, whose Lease would be written while nothing happens.
func (f *Fleet) install(ctx context.Context) error {
	if err := installation.Operator(ctx, f.Cluster, "--set", "leaderElection.enabled=false"); err != nil {
		return err
	}
	_, err := f.Cluster.KubectlWithInput(ctx, trainingjob.SmallProfile(accelerator), "apply", "-f", "-")
	return err
}

// simulate starts what plays kubelets and trainers, and the watches that tell what has become of the jobs.
func (f *Fleet) simulate(ctx context.Context) (err error) {
	lifetime, end := context.WithCancel(context.Background())
	f.end = end
	f.Agents = newAgents(f.claim.Network)
	if f.kubelet, err = startKubelet(lifetime, f.client, f.Agents); err != nil {
		return err
	}
	f.Jobs, err = watchJobs(lifetime, f.Cluster.REST)
	return err
}

func operatorProgram() (string, error) {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Join(root, "build", "bin", "sailor-operator"))
}

// eachOf calls the function for each number below count, in as many goroutines. It returns the first error.
func eachOf(count, goroutines int, do func(i int) error) error {
	numbers, failures := make(chan int), make(chan error, goroutines)
	for range goroutines {
		go func() {
			var failure error
			for i := range numbers {
				if failure == nil {
					failure = do(i)
				}
			}
			failures <- failure
		}()
	}
	for i := range count {
		numbers <- i
	}
	close(numbers)
	var first error
	for range goroutines {
		if failure := <-failures; first == nil {
			first = failure
		}
	}
	return first
}
