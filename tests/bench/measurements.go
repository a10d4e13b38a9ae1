package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

const patience = 2 * time.Minute // for one measurement

type bench struct {
	cluster *testcluster.Cluster
	jobs    *trainingjob.Client
}

const jobName = "bench"

// firstStep is from `kubectl apply` of a job to its first completed step.
func (b bench) firstStep(ctx context.Context) ([]row, error) {
	began := time.Now()
	manifest := trainingjob.Small{Name: jobName, Steps: trainingjob.Endless, Checkpoint: b.cluster.Dir + "/checkpoints"}.Manifest()
	if _, err := b.cluster.KubectlWithInput(ctx, manifest, "apply", "-f", "-"); err != nil {
		return nil, err
	}
	_, err := b.until(ctx, func(job trainingjob.Job) bool { return job.Status.Progress.Step > 0 })
	return []row{{"job: apply to its first step seen in its status", time.Since(began).Seconds(), "s", nil}}, err
}

// lostNode kills nodes without notice, one kind of node after the other, and waits for the next step to be completed.
func (b bench) lostNode(ctx context.Context) ([]row, error) {
	var rows []row
	for _, pool := range []string{"l4-spot", "t4-spot", "l4"} {
		seconds, err := b.killOne(ctx, pool)
		if err != nil {
			return nil, fmt.Errorf("killing a node of pool %s: %w", pool, err)
		}
		rows = append(rows, row{"node of " + pool + " killed without notice to the next completed step", seconds, "s", atMost(20)})
	}
	return rows, nil
}

func (b bench) killOne(ctx context.Context, pool string) (float64, error) {
	before, err := b.until(ctx, func(job trainingjob.Job) bool {
		return job.Is("Running") && !job.Is("Rescaling") && job.Status.Progress.LastCheckpointStep > 0
	})
	if err != nil {
		return 0, err
	}
	node, err := b.nodeOfJob(ctx, pool)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := b.cluster.Kill(ctx, node); err != nil {
		return 0, err
	}
	resumed := int64(-1) // the step at which the new plan was first seen
	_, err = b.until(ctx, func(job trainingjob.Job) bool {
		if job.Status.Plan.Generation <= before.Status.Plan.Generation || !job.Is("Running") {
			return false
		}
		if resumed < 0 {
			resumed = job.Status.Progress.Step
		}
		return job.Status.Progress.Step > resumed
	})
	seconds := time.Since(began).Seconds()
	if err != nil {
		return 0, err
	}
	return seconds, b.giveBack(ctx, node, pool)
}

// giveBack replaces the killed node and waits until the job uses as many GPUs as before.
func (b bench) giveBack(ctx context.Context, node, pool string) error {
	without, err := b.jobs.Get(ctx, jobName)
	if err != nil {
		return err
	}
	if err := b.cluster.Delete(ctx, node); err != nil {
		return err
	}
	if _, err := b.cluster.Add(ctx, pool); err != nil {
		return err
	}
	_, err = b.until(ctx, func(job trainingjob.Job) bool {
		return job.Is("Running") && job.Status.Plan.TotalGPUs > without.Status.Plan.TotalGPUs
	})
	return err
}

func (b bench) nodeOfJob(ctx context.Context, pool string) (string, error) {
	pods, err := b.cluster.Kubernetes.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "sailor.dev/job-name=" + jobName})
	if err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		if strings.HasPrefix(pod.Spec.NodeName, pool+"-") && pod.DeletionTimestamp == nil {
			return pod.Spec.NodeName, nil
		}
	}
	return "", errors.New("the job runs on no node of it")
}

func (b bench) until(ctx context.Context, holds func(trainingjob.Job) bool) (last trainingjob.Job, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	err = b.jobs.Until(ctx, jobName, func(job trainingjob.Job) (bool, error) {
		last = job
		return holds(job), nil
	})
	return last, err
}

// operatorMemory is what the operator says of itself after all of the above.
func (b bench) operatorMemory(ctx context.Context) ([]row, error) {
	pods, err := b.cluster.Kubernetes.CoreV1().Pods("sailor-system").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(pods.Items) == 0 {
		return nil, errors.New("the operator has no pod")
	}
	response, err := http.Get("http://" + pods.Items[0].Status.PodIP + ":9090/metrics")
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if name == "process_resident_memory_bytes" {
			bytes, err := strconv.ParseFloat(value, 64)
			return []row{{"operator: resident memory", bytes / 1e6, "MB", atMost(100)}}, err
		}
	}
	return nil, errors.New("the operator's metrics lack process_resident_memory_bytes")
}
