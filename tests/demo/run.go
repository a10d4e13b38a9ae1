package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/slowgpu"
	"sailor.dev/tests/trainingjob"
)

type options struct {
	keep        bool
	onlyCluster bool
	dashboards  bool
	straggler   bool
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

	stepsOfPlan int64  // steps that every plan trains before the story continues
	patch       string // of the quickstart; empty: none
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
	if err := d.startCluster(ctx, options); err != nil {
		return err
	}
	if err := d.install(ctx, options); err != nil {
		return err
	}
	if options.onlyCluster {
		d.printHints("The cluster is up until you press Ctrl-C.")
		<-ctx.Done()
		return nil
	}
	if err := d.tell(ctx, options); err != nil {
		return err
	}
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

func (d *demo) startCluster(ctx context.Context, options options) error {
	configOf, nodes := testcluster.GKE, "three zones of two regions, L4 and T4 nodes, spot and on demand"
	if options.straggler {
		configOf, nodes = slowgpu.Config, "a pool of four T4 nodes"
	}
	d.screen.step("Starting a local Kubernetes: " + nodes)
	config, err := configOf()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(d.dir, "cluster.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	d.cluster, err = testcluster.Start(ctx, testcluster.Options{ConfigFile: config, Dir: d.clusterDir(), Output: log, Detached: options.keep})
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

// tell tells one of the two stories.
func (d *demo) tell(ctx context.Context, options options) error {
	if options.straggler {
		return d.showSlowGPU(ctx)
	}
	if err := d.trainAndShow(ctx, options.dashboards); err != nil {
		return err
	}
	d.screen.summary(d.history)
	return nil
}

// trainAndShow draws the dashboards while the job still trains, because a job that is complete uses nothing.
func (d *demo) trainAndShow(ctx context.Context, withDashboards bool) error {
	d.stepsOfPlan = stepsOfProof
	if !withDashboards {
		if err := d.train(ctx); err != nil {
			return err
		}
		return d.awaitComplete(ctx)
	}
	monitoring, err := d.startMonitoring(ctx)
	if err != nil {
		return err
	}
	defer monitoring.server.Stop()
	d.stepsOfPlan, d.patch = stepsOnDashboard, costLimits
	if err := d.train(ctx); err != nil {
		return err
	}
	return monitoring.draw(ctx, d)
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
	return nil
}
