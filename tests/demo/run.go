package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

type options struct {
	keep        bool
	onlyCluster bool
}

const (
	jobName      = "quickstart"
	jobNamespace = "default"
	spotGrace    = 15 * time.Second // GKE's
)

// demo is the state that the steps share.
type demo struct {
	root    string // the root folder of the repository
	dir     string // the folder for everything that this run writes
	cluster *testcluster.Cluster
	jobs    *trainingjob.Client
	screen  *screen
	history history
}

// run runs the demo from beginning to end. The cluster ends with it, also after an error, unless it is to be kept.
func run(ctx context.Context, options options) (err error) {
	d, err := newDemo()
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			err = d.stop(err)
		}
	}()
	if err := d.startCluster(ctx, options.keep); err != nil {
		return err
	}
	if err := d.install(ctx); err != nil {
		return err
	}
	if options.onlyCluster {
		d.printHints("The cluster is up until you press Ctrl-C.")
		<-ctx.Done()
		return nil
	}
	if err := d.train(ctx); err != nil {
		return err
	}
	d.screen.summary(d.history)
	if options.keep {
		kept = true
		d.printHints("The cluster stays up. `" + d.program("sailor-cluster") + " down --dir " + d.clusterDir() + "` ends it.")
	}
	return nil
}

func newDemo() (*demo, error) {
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	d := &demo{root: root, dir: filepath.Join(root, "build", "demo"), screen: newScreen(os.Stdout)}
	return d, os.MkdirAll(d.dir, 0o755)
}

func (d *demo) clusterDir() string { return filepath.Join(d.dir, "cluster") }

func (d *demo) program(name string) string { return filepath.Join(d.root, "build", "bin", name) }

func (d *demo) startCluster(ctx context.Context, keep bool) error {
	d.screen.step("Starting a local Kubernetes: three zones of two regions, L4 and T4 nodes, spot and on demand")
	config, err := testcluster.GKE()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(d.dir, "cluster.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	d.cluster, err = testcluster.Start(ctx, testcluster.Options{ConfigFile: config, Dir: d.clusterDir(), Output: log, Detached: keep})
	if err != nil {
		return fmt.Errorf("%w (log: %s)", err, log.Name())
	}
	d.jobs, err = trainingjob.NewClient(d.cluster.REST, jobNamespace)
	return err
}

// stop ends the cluster. On failure what the operator and the pods said is left in build/demo/cluster/logs.
func (d *demo) stop(cause error) error {
	d.screen.endLine()
	if d.cluster == nil {
		return cause
	}
	if err := d.cluster.Stop(); err != nil && cause == nil {
		return err
	}
	return cause
}

// train applies the job and does to its nodes what a cloud does, at the moments that make a good story.
func (d *demo) train(ctx context.Context) error {
	if err := d.applyJob(ctx); err != nil {
		return err
	}
	first, err := d.awaitTraining(ctx, 0)
	if err != nil {
		return err
	}
	victim, pool, err := d.spotNodeOfJob(ctx)
	if err != nil {
		return err
	}
	d.screen.step(fmt.Sprintf("The cloud takes spot node %s back: taint, SIGTERM to its pods, gone after %.0f s", victim, spotGrace.Seconds()))
	preempted := make(chan error, 1)
	go func() { preempted <- d.cluster.Preempt(ctx, victim, spotGrace) }()
	second, err := d.awaitTraining(ctx, first.Status.Plan.Generation)
	if err != nil {
		return err
	}
	if err := <-preempted; err != nil {
		return err
	}
	d.screen.note(fmt.Sprintf("the job continues with %d GPUs of %d", second.Status.Plan.TotalGPUs, first.Status.Plan.TotalGPUs))
	node, err := d.cluster.Add(ctx, pool)
	if err != nil {
		return err
	}
	d.screen.step(fmt.Sprintf("A new node comes up in pool %s: %s", pool, node))
	third, err := d.awaitTraining(ctx, second.Status.Plan.Generation)
	if err != nil {
		return err
	}
	d.screen.note(fmt.Sprintf("the job uses it: %d GPUs", third.Status.Plan.TotalGPUs))
	return d.awaitComplete(ctx)
}
