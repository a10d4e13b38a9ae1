// Package controlplane runs etcd, kube-apiserver, kube-controller-manager and kube-scheduler, one process each.
package controlplane

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"sailor.dev/tests/cluster/pki"
	"sailor.dev/tests/cluster/process"
)

// Settings say where a control plane keeps its files and listens.
type Settings struct {
	Dir     string // etcd's data, logs, certificates and kubeconfigs are put here
	Network string // its address is NETWORK.0.1, the cluster IPs are NETWORK.0.0/24
	Port    int
	Args    map[string][]string // further arguments of components
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	Settings
	PKI      *pki.Authority
	Client   *kubernetes.Clientset
	sockets  process.SocketFolder
	children []*process.Child
	failed   chan error // receives the end of a component
}

// Address is where the API server listens.
func (s Settings) Address() string { return s.Network + ".0.1" }

// Server is the URL of the API server.
func (s Settings) Server() string { return fmt.Sprintf("https://%s:%d", s.Address(), s.Port) }

// AdminKubeconfig is the file with which one may do everything.
func AdminKubeconfig(dir string) string { return filepath.Join(dir, "admin.kubeconfig") }

// LogDir is where the components' output is.
func LogDir(dir string) string { return filepath.Join(dir, "logs") }

func (s Settings) file(name string) string { return filepath.Join(s.Dir, name) }

// Start returns when pods can be created. If it returns an error, it leaves nothing running.
func Start(ctx context.Context, settings Settings) (*ControlPlane, error) {
	cp := &ControlPlane{Settings: settings, failed: make(chan error, 4)}
	steps := []func(context.Context) error{
		cp.issueCertificates, cp.connect, cp.startStorage, cp.startServer, cp.awaitServer, cp.startControllers, cp.awaitServiceAccount,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			cp.Stop()
			return nil, err
		}
	}
	return cp, nil
}

// Stop ends the components in the reverse order of their start.
func (cp *ControlPlane) Stop() {
	for i := len(cp.children) - 1; i >= 0; i-- {
		cp.children[i].Stop(syscall.SIGTERM, 10*time.Second)
	}
	if cp.sockets.File != nil {
		cp.sockets.File.Close()
	}
}

// Failed receives an error when a component has ended by itself.
func (cp *ControlPlane) Failed() <-chan error { return cp.failed }

func (cp *ControlPlane) issueCertificates(context.Context) (err error) {
	if cp.PKI, err = pki.New(cp.file("pki")); err != nil {
		return err
	}
	if err := cp.PKI.Issue("apiserver", pkix.Name{CommonName: "kube-apiserver"}, cp.Address()); err != nil {
		return err
	}
	kubeletClient := pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}}
	if err := cp.PKI.Issue("apiserver-kubelet-client", kubeletClient); err != nil {
		return err
	}
	if err := cp.PKI.Kubeconfig(AdminKubeconfig(cp.Dir), cp.Server(), "admin", "admin", "system:masters"); err != nil {
		return err
	}
	for _, name := range []string{"controller-manager", "scheduler"} {
		if err := cp.PKI.Kubeconfig(cp.file(name+".kubeconfig"), cp.Server(), name, "system:kube-"+name); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) connect(context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", AdminKubeconfig(cp.Dir))
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit
	cp.Client, err = kubernetes.NewForConfig(config)
	return err
}

func (cp *ControlPlane) awaitServer(ctx context.Context) error {
	return cp.await(ctx, "the API server to be ready", func(ctx context.Context) error {
		return cp.Client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

// awaitServiceAccount waits for what every pod of the default namespace needs.
func (cp *ControlPlane) awaitServiceAccount(ctx context.Context) error {
	return cp.await(ctx, "the service account default/default", func(ctx context.Context) error {
		_, err := cp.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// await tries until it works, a component ends, or two minutes are over.
func (cp *ControlPlane) await(ctx context.Context, what string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (logs are in %s)", what, err, LogDir(cp.Dir))
		case failure := <-cp.failed:
			return fmt.Errorf("waiting for %s: %w", what, failure)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
