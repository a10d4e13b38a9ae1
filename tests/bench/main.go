// Command sailor-bench measures the whole system on a local Kubernetes and prints a JSON list of {name, value, unit, goal}.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
	"sailor.dev/tests/trainingjob"
)

// row is one result. A goal is an upper limit.
type row struct {
	Name  string   `json:"name"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit"`
	Goal  *float64 `json:"goal"`
}

func atMost(goal float64) *float64 { return &goal }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	rows, err := measure(ctx)
	if err := errors.Join(err, json.NewEncoder(os.Stdout).Encode(rows)); err != nil { // what was measured before a failure is worth its time
		fmt.Fprintln(os.Stderr, "sailor-bench:", err)
		os.Exit(1)
	}
}

// measure runs the parts of the bench; SAILOR_BENCH_JOB selects one.
func measure(ctx context.Context) (rows []row, err error) {
	only := os.Getenv("SAILOR_BENCH_JOB")
	if only == "fleet" {
		return measureFleet(ctx)
	}
	if only != "slow-gpu" {
		rows, err = measureRescales(ctx, only)
	}
	if err == nil && (only == "" || only == "slow-gpu") {
		var more []row
		more, err = slowGPUs(ctx)
		rows = append(rows, more...)
	}
	return rows, err
}

// measureRescales runs one cluster through all measurements: with a small job on it, then with a large one.
func measureRescales(ctx context.Context, only string) (rows []row, err error) {
	config, err := testcluster.GKE()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	cluster, err := testcluster.Start(ctx, testcluster.Options{ConfigFile: config, Output: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := cluster.Stop(); err == nil {
			err = stopped
		}
	}()
	rows = append(rows, row{"local cluster: start to all nodes ready", time.Since(began).Seconds(), "s", nil})
	began = time.Now()
	if err := installation.ForSmallJobs(ctx, cluster, "--set", "coolDownSeconds=1"); err != nil {
		return nil, err
	}
	rows = append(rows, row{"operator: helm install to ready", time.Since(began).Seconds(), "s", nil})
	jobs, err := trainingjob.NewClient(cluster.REST, "default")
	if err != nil {
		return nil, err
	}
	spec := trainingjob.Small{Name: "bench", Steps: trainingjob.Endless, Checkpoint: cluster.Dir + "/checkpoints"}
	small := &bench{cluster: cluster, jobs: jobs, spec: spec, goals: goalsOfSmallJob, events: eventsEach, interval: trainingjob.ShortSteps,
		patience: 2 * time.Minute, notice: 5 * time.Second} // GKE's 15 s would only make the bench longer
	spec.Name, spec.Checkpoint = "bench-large", "" // what is lost without any checkpoint shows who holds the state
	spec = spec.Large()
	if batch, err := strconv.Atoi(os.Getenv("SAILOR_BENCH_BATCH")); err == nil && batch > 0 {
		spec.Batch = batch
	}
	large := &bench{cluster: cluster, jobs: jobs, spec: spec, goals: goalsOfLargeJob, events: eventsOfLargeJob,
		interval: 100 * time.Millisecond, patience: 5 * time.Minute, notice: 15 * time.Second, name: "GPT-2 124M: "}
	var measurements []func(context.Context) ([]row, error)
	if only != "large" {
		measurements = append(measurements, small.firstStep, small.rescales, small.operatorMemory, small.restarts, small.end)
	}
	if only != "small" {
		measurements = append(measurements, large.firstStep, large.rescales, large.end)
	}
	for _, one := range measurements {
		more, err := one(ctx)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
