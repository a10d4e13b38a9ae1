// Package kueue runs a real Kueue on the local cluster, for tests. Kueue's manager is a process of this machine, compiled from the
// version that tests/tools/kueue/go.mod names. Its definitions, roles and webhooks are those of Kueue's own installation.
package kueue

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"sailor.dev/tests/cluster/testcluster"
)

const (
	startLimit = 10 * time.Minute // compiling Kueue takes minutes, the first time on a machine
	patience   = time.Minute
)

// Options say how Kueue is configured.
type Options struct {
	// PodsReadyTimeout is how long a Workload may be admitted before its condition PodsReady is True. After that, Kueue evicts it and
	// queues it again a second later. Without a timeout, Kueue does not look at this condition.
	PodsReadyTimeout time.Duration
}

// Kueue is a running Kueue. Its methods end the test if they fail.
type Kueue struct {
	t       *testing.T
	cluster *testcluster.Cluster
	options Options
	client  *dynamic.DynamicClient

	program program
	folder  string // of its certificates and its configuration
	address string // where its webhooks and its probes listen
	logFile string
	process *exec.Cmd     // nil until it has started
	ended   chan struct{} // closed when the process has ended
	install installation
}

// Start returns when Kueue admits Workloads and its webhooks are in use. It ends with the test, and leaves nothing of Kueue's in the
// cluster but its namespace and its roles. It skips the test if Kueue cannot be compiled with this Go.
func Start(t *testing.T, cluster *testcluster.Cluster, options Options) *Kueue {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	k := &Kueue{t: t, cluster: cluster, options: options, folder: t.TempDir(), address: addressIn(cluster), ended: make(chan struct{})}
	steps := []func(context.Context) error{
		k.compile, k.connect, k.issueCertificates, k.render, k.define, k.configure, k.launch, k.awaitReady, k.register, k.awaitWebhooks,
	}
	t.Cleanup(k.end)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			t.Fatalf("starting Kueue: %v", err)
		}
	}
	return k
}

// addressIn is the last address of the network of the cluster's services, which no service gets.
func addressIn(cluster *testcluster.Cluster) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(cluster.REST.Host, "https://"), ":")
	return host[:strings.LastIndex(host, ".")] + ".255"
}

func (k *Kueue) connect(context.Context) (err error) {
	k.client, err = dynamic.NewForConfig(k.cluster.REST)
	return err
}

// end ends the process before it removes what is in the cluster, so that Kueue makes nothing anew.
func (k *Kueue) end() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if k.t.Failed() {
		k.showLog()
	}
	if err := k.unregister(ctx); err != nil {
		k.t.Errorf("removing Kueue's webhooks: %v", err)
	}
	k.stopProcess()
	if err := k.undefine(ctx); err != nil {
		k.t.Errorf("removing Kueue's definitions: %v", err)
	}
}
