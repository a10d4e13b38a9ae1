// Package testcluster runs a local cluster for tests and for the demo, as a child process: it needs the programs that
// scripts/build_cluster.sh has built, and links Kubernetes' client only.
package testcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/control"
)

// Options say what cluster to start.
type Options struct {
	// ConfigFile describes the cluster, such as GKE(). Without a file, Config describes it.
	ConfigFile string
	Config     config.Config
	// Dir is the cluster's folder; left out, a temporary one that Stop removes.
	Dir string
	// Output gets what `sailor-cluster up` says; left out, it goes to standard error.
	Output io.Writer
	// Detached clusters may outlive this process: they end with Stop or `sailor-cluster down`. They need a Dir, and an
	// Output that is a file.
	Detached bool
}

// Cluster is a running cluster. In addition to its own methods it has those of control.Operations: Add, Kill, Start, Freeze, Thaw,
// Preempt, Delete, Nodes, Pools, SetStock and others.
type Cluster struct {
	*control.Client
	Dir        string
	Kubeconfig string       // file of an administrator
	REST       *rest.Config // the same
	Kubernetes *kubernetes.Clientset
	PID        int // the process of `sailor-cluster up`, the ancestor of all processes in the cluster

	bin       string        // folder of the programs
	temporary string        // folder to remove in the end
	lifeline  io.Closer     // the cluster stops when this is closed, which the kernel does if we end; nil if detached
	ended     chan struct{} // closed when the cluster has ended
	endedWith error
}

// Start returns when the cluster and its nodes are ready. The cluster ends with Stop, or else with this process.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: options.Dir, bin: filepath.Join(root, "build", "bin")}
	if err := c.prepare(&options); err != nil {
		c.removeTemporary()
		return nil, err
	}
	if err := c.launch(options); err != nil {
		c.removeTemporary()
		return nil, err
	}
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the local cluster: %w", err), c.Stop())
	}
	return c, nil
}

// prepare makes what the options leave out.
func (c *Cluster) prepare(options *Options) (err error) {
	for _, program := range []string{"sailor-cluster", "kubectl", "helm"} {
		if _, err := os.Stat(c.Program(program)); err != nil {
			return fmt.Errorf("%s is not built: run scripts/build_cluster.sh", c.Program(program))
		}
	}
	if options.ConfigFile != "" && options.Dir != "" {
		return nil
	}
	if c.temporary, err = os.MkdirTemp("", "sailor-"); err != nil {
		return err
	}
	if c.Dir == "" {
		c.Dir = filepath.Join(c.temporary, "cluster")
	}
	if options.ConfigFile == "" {
		options.ConfigFile = filepath.Join(c.temporary, "config.yaml")
		err = options.Config.Write(options.ConfigFile)
	}
	return err
}

// launch starts `sailor-cluster up`, with a pipe whose end tells it of ours.
func (c *Cluster) launch(options Options) (err error) {
	if c.Client, err = control.NewClient(c.Dir); err != nil {
		return err
	}
	if _, err := c.Client.Nodes(context.Background()); !errors.Is(err, control.ErrNotRunning) {
		return fmt.Errorf("a cluster runs in %s: end it with `%s down --dir %s`", c.Dir, c.Program("sailor-cluster"), c.Dir)
	}
	up := exec.Command(c.Program("sailor-cluster"), "up", "--dir", c.Dir, "--config", options.ConfigFile)
	up.Stdout, up.Stderr = options.Output, options.Output
	if options.Output == nil {
		up.Stdout, up.Stderr = os.Stderr, os.Stderr
	}
	// A group of its own: Ctrl-C is for us, and we may still need the cluster to end what runs on it.
	up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if !options.Detached {
		up.Args = append(up.Args, "--until-eof")
		if c.lifeline, err = up.StdinPipe(); err != nil {
			return err
		}
	}
	if err := up.Start(); err != nil {
		return err
	}
	c.PID, c.ended = up.Process.Pid, make(chan struct{})
	go func() {
		c.endedWith = up.Wait()
		close(c.ended)
	}()
	return nil
}

// connect waits for the cluster and makes its clients.
func (c *Cluster) connect(ctx context.Context) (err error) {
	if err := c.awaitReady(ctx); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(c.Dir, "admin.kubeconfig")
	if c.REST, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.REST.QPS = -1 // no limit
	c.Kubernetes, err = kubernetes.NewForConfig(c.REST)
	return err
}

// awaitReady returns when the cluster is ready or has ended.
func (c *Cluster) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- c.Ready(ctx) }()
	select {
	case err := <-ready:
		return err
	case <-c.ended:
		return errors.New("`sailor-cluster up` has ended; see what it said")
	}
}

// Ended is closed when the cluster has ended, by Stop or by a fault.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// Stop ends the cluster and returns when all of it has ended.
func (c *Cluster) Stop() error {
	if c.lifeline != nil {
		c.lifeline.Close()
	} else if err := c.Client.Stop(context.Background()); err != nil {
		return err
	}
	<-c.ended
	return errors.Join(c.endedWith, c.removeTemporary())
}

func (c *Cluster) removeTemporary() error {
	if c.temporary == "" {
		return nil
	}
	return os.RemoveAll(c.temporary)
}
