package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sailor.dev/tests/slowgpu"
)

// slowGPU is the case of --straggler.
var slowGPU = slowgpu.Case{Workers: 4, Factor: 4}

// The quickstart on all GPUs of tests/slowgpu/cluster.yaml. Its steps take a second there, so that one can watch them, and it does
// not end by itself.
const onSlowGPUs = `{"spec": {"training": {"globalBatchSize": 96, "steps": 100000},
	"resources": {"accelerators": ["nvidia-tesla-t4"], "provisioning": "Spot", "minGpus": 4}}}`

// showSlowGPU makes a GPU of the job slow and fast again.
func (d *demo) showSlowGPU(ctx context.Context) error {
	d.patch = onSlowGPUs
	if err := d.applyJob(ctx); err != nil {
		return err
	}
	scene := slowgpu.Scene{Cluster: d.cluster, Namespace: jobNamespace, Job: jobName, Watch: d.watch, Begin: d.screen.step, Tell: d.screen.note}
	result, err := scene.Run(ctx, slowGPU)
	if err != nil {
		return err
	}
	d.screen.slowGPU(slowGPU, result)
	picture := filepath.Join(d.dir, "slow-gpu.svg")
	fmt.Printf("\nThe length of each step is drawn in %s\n", picture)
	return os.WriteFile(picture, []byte(slowgpu.Chart(slowGPU, result)), 0o644)
}

func (s *screen) slowGPU(c slowgpu.Case, r slowgpu.Result) {
	s.endLine()
	fmt.Fprintf(s.out, "\nSummary\n")
	row := s.row(20)
	row("steps", "mean time")
	row("usual", "%s", seconds(r.Usual))
	if r.Delayed > 0 {
		row("slow GPU, old plan", "%s, %.2f times the usual", seconds(r.Delayed), ratio(r.Delayed, r.Usual))
	}
	bound := c.Bound(r.Usual)
	row("slow GPU, new plan", "%s, %.2f times the usual; %.2f is the least that the GPUs' speeds allow (%.0f %% of it)", seconds(r.Adapted),
		ratio(r.Adapted, r.Usual), ratio(bound, r.Usual), 100*ratio(bound, r.Adapted))
	row("recovered", "%s, %.2f times the usual", seconds(r.Recovered), ratio(r.Recovered, r.Usual))
	row("noticed", "after %s and %d steps", seconds(r.Noticed.Time), r.Noticed.Steps)
	row("new plan", "after %s and %d steps (%s)", seconds(r.Changed.Time), r.Changed.Steps, r.Reason)
	row("used as before", "%s and %d steps after the GPU recovered", seconds(r.Returned.Time), r.Returned.Steps)
	row("steps lost", "%d", r.StepsLost)
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }

func seconds(t time.Duration) string { return fmt.Sprintf("%.2f s", t.Seconds()) }
