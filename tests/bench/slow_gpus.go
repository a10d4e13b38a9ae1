package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/slowgpu"
	"sailor.dev/tests/trainingjob"
)

const (
	slowGPUPatience = 5 * time.Minute // the limit for one change
	shareOfBound    = 0.9             // of the throughput that the speeds of the GPUs allow
	stepsToReturn   = 30.0            // from a GPU's recovery until it is used as before
	stepsToNotice   = 10.0
	mostGPUs        = 4  // nodes of tests/slowgpu/cluster.yaml
	sequencesEach   = 24 // of a step, which then takes a second
)

var factorsOfSlowGPUs = []float64{2, 4, 8}

// slowGPUs measures jobs of four, three and two GPUs, one of which gets slow, on a cluster of their own.
func slowGPUs(ctx context.Context) (rows []row, err error) {
	config, err := slowgpu.Config()
	if err != nil {
		return nil, err
	}
	cluster, err := testcluster.Start(ctx, testcluster.Options{ConfigFile: config, Output: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := cluster.Stop(); err == nil {
			err = stopped
		}
	}()
	if err := installation.Operator(ctx, cluster, "--set", "coolDownSeconds=1"); err != nil {
		return nil, err
	}
	if err := installation.Pools(ctx, cluster); err != nil {
		return nil, err
	}
	jobs, err := trainingjob.NewClient(cluster.REST, "default")
	if err != nil {
		return nil, err
	}
	for workers := mostGPUs; workers >= 2; workers-- {
		spec := trainingjob.Straggling("slow-gpu", workers)
		spec.Batch = sequencesEach * workers
		b := &bench{cluster: cluster, jobs: jobs, spec: spec, patience: slowGPUPatience}
		if workers == mostGPUs {
			if err := b.measureModel(ctx, workers); err != nil {
				return nil, err
			}
		} else if err := b.removeNode(ctx); err != nil {
			return rows, err
		}
		for _, factor := range factorsOfSlowGPUs {
			rows = append(rows, b.slowGPU(ctx, slowgpu.Case{Workers: workers, Factor: factor})...)
			if err := b.endSlowJob(ctx); err != nil {
				return rows, err
			}
		}
	}
	return rows, nil
}

// measureModel applies a profile of the job's model.
func (b *bench) measureModel(ctx context.Context, workers int) error {
	file := filepath.Join(b.cluster.Dir, b.spec.Name+".yaml")
	if err := os.WriteFile(file, []byte(b.spec.Manifest()), 0o600); err != nil {
		return err
	}
	profile, err := installation.MeasuredProfile(ctx, b.cluster, file, "nvidia-tesla-t4", workers)
	if err != nil {
		return err
	}
	_, err = b.cluster.KubectlWithInput(ctx, profile, "apply", "-f", "-")
	return err
}

// slowGPU measures one case with a job of its own, because a GPU that was slow before is trusted later. A row says if it failed.
func (b *bench) slowGPU(ctx context.Context, c slowgpu.Case) []row {
	seen, err := b.playSlowGPU(ctx, c)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%sfailed: %v\n", nameOfSlowGPU(c), err)
		if job, err := b.jobs.Get(ctx, b.spec.Name); err == nil {
			fmt.Fprintf(os.Stderr, "its conditions: %+v\nits changes: %+v\n", job.Status.Conditions, job.Status.Rescales)
		}
		return []row{{nameOfSlowGPU(c) + "failed", 1, "", atMost(0)}}
	}
	return rowsOfSlowGPU(c, seen)
}

func nameOfSlowGPU(c slowgpu.Case) string {
	return fmt.Sprintf("one of %d GPUs takes %g times as long: ", c.Workers, c.Factor)
}

// endSlowJob also makes all GPUs as fast as before.
func (b *bench) endSlowJob(ctx context.Context) error {
	nodes, err := b.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Slowdown != 1 {
			if err := b.cluster.Slow(ctx, node.Name, 1); err != nil {
				return err
			}
		}
	}
	_, err = b.end(ctx)
	return err
}

func (b *bench) playSlowGPU(ctx context.Context, c slowgpu.Case) (seen slowgpu.Result, err error) {
	if _, err := b.cluster.KubectlWithInput(ctx, b.spec.Manifest(), "apply", "-f", "-"); err != nil {
		return seen, err
	}
	say := func(text string) { fmt.Fprintf(os.Stderr, "%d GPUs: %s\n", c.Workers, text) }
	scene := slowgpu.Scene{Cluster: b.cluster, Namespace: "default", Job: b.spec.Name, Begin: say, Tell: say,
		Watch: func(ctx context.Context, what string, holds func(trainingjob.Job) (bool, error)) (last trainingjob.Job, err error) {
			ctx, cancel := context.WithTimeoutCause(ctx, b.patience, fmt.Errorf("waited %s for %s", b.patience, what))
			defer cancel()
			err = b.jobs.Until(ctx, b.spec.Name, func(job trainingjob.Job) (bool, error) {
				last = job
				return holds(job)
			})
			return last, err
		}}
	return scene.Run(ctx, c)
}

func rowsOfSlowGPU(c slowgpu.Case, seen slowgpu.Result) []row {
	name := nameOfSlowGPU(c)
	return []row{
		{name + "steps until it is noticed", float64(seen.Noticed.Steps), "", atMost(stepsToNotice)},
		{name + "until it is noticed", seen.Noticed.Time.Seconds(), "s", nil},
		{name + "until the first step by a plan for it", seen.Changed.Time.Seconds(), "s", nil},
		{name + "step by the old plan over a usual one", seen.Delayed.Seconds() / seen.Usual.Seconds(), "", nil},
		{name + "step by the new plan over a usual one", seen.Adapted.Seconds() / seen.Usual.Seconds(), "", nil},
		{name + "the same over what the speeds allow", seen.Adapted.Seconds() / c.Bound(seen.Usual).Seconds(), "", atMost(1 / shareOfBound)},
		{name + "steps from its recovery until it is used as before", float64(seen.Returned.Steps), "", atMost(stepsToReturn)},
		{name + "steps lost", float64(seen.StepsLost), "", atMost(0)},
	}
}

// removeNode makes the pool of the job one node smaller.
func (b *bench) removeNode(ctx context.Context) error {
	nodes, err := b.cluster.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Pool == trainingjob.StragglingPool {
			return b.cluster.Delete(ctx, node.Name)
		}
	}
	return fmt.Errorf("pool %s has no node left", trainingjob.StragglingPool)
}
