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

// bench measures one job.
type bench struct {
	cluster  *testcluster.Cluster
	jobs     *trainingjob.Client
	spec     trainingjob.Small
	patience time.Duration // the limit for one measurement
	interval time.Duration // between looks for a new step
	notice   time.Duration // of a preemption
	name     string        // what the names of its rows begin with
	goals    goals
	events   int // the number of events of each kind
}

// firstStep is from `kubectl apply` of a job to its first completed step.
func (b *bench) firstStep(ctx context.Context) ([]row, error) {
	began := time.Now()
	if _, err := b.cluster.KubectlWithInput(ctx, b.spec.Manifest(), "apply", "-f", "-"); err != nil {
		return nil, err
	}
	_, err := b.until(ctx, func(job trainingjob.Job) bool { return job.Status.Progress.Step > 0 })
	return []row{{b.name + "job: apply to its first step seen in its status", time.Since(began).Seconds(), "s", nil}}, err
}

// end deletes the job and waits until its pods are gone.
func (b *bench) end(ctx context.Context) ([]row, error) {
	if _, err := b.cluster.Kubectl(ctx, "delete", "tj", b.spec.Name); err != nil {
		return nil, err
	}
	return nil, testcluster.Await(ctx, "the pods of the job to go", func(ctx context.Context) (bool, error) {
		pods, err := b.cluster.Kubernetes.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: b.pods()})
		return err == nil && len(pods.Items) == 0, err
	})
}

func (b *bench) pods() string { return "sailor.dev/job-name=" + b.spec.Name }

func (b *bench) nodeOfJob(ctx context.Context, pool string) (string, error) {
	return trainingjob.NodeOfPool(ctx, b.cluster.Kubernetes, "default", b.spec.Name, pool)
}

func (b *bench) until(ctx context.Context, holds func(trainingjob.Job) bool) (last trainingjob.Job, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.patience, fmt.Errorf("not within %s", b.patience))
	defer cancel()
	err = b.jobs.Until(ctx, b.spec.Name, func(job trainingjob.Job) (bool, error) {
		last = job
		return holds(job), nil
	})
	return last, err
}

// operatorMemory measures the memory that the operator reports for itself after all other measurements.
func (b *bench) operatorMemory(ctx context.Context) ([]row, error) {
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
