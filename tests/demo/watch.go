package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/trainingjob"
)

const (
	patience         = 3 * time.Minute // the limit for one chapter of the story, from the job's last step
	stepsOfProof     = 5               // steps completed under a plan before the story continues
	stepsOnDashboard = 15              // the same where each plan is to be seen on dashboards
)

// awaitTraining shows the job until it has trained some steps under a plan newer than the generation.
func (d *demo) awaitTraining(ctx context.Context, generation int64) (trainingjob.Job, error) {
	var began int64 = -1 // the step at which the new plan was first seen training
	return d.watch(ctx, fmt.Sprintf("the job to train under a plan newer than %d", generation), func(job trainingjob.Job) (bool, error) {
		if job.Is("Complete") {
			return false, errors.New("the job completed before the story was told; give crds/examples/quickstart.yaml more steps")
		}
		if job.Status.Plan.Generation <= generation || !job.Is("Running") || job.Is("Rescaling") {
			return false, nil
		}
		if began < 0 {
			began = job.Status.Progress.Step
		}
		return job.Status.Progress.Step >= began+d.stepsOfPlan, nil
	})
}

func (d *demo) awaitComplete(ctx context.Context) error {
	_, err := d.watch(ctx, "the job to complete", func(job trainingjob.Job) (bool, error) { return job.Is("Complete"), nil })
	return err
}

// watch shows every state of the job until one is what was waited for. A job that failed ends it, and so does one that does no step for too
// long. A slow machine may take as long as it needs.
func (d *demo) watch(ctx context.Context, what string, enough func(trainingjob.Job) (bool, error)) (last trainingjob.Job, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(patience, func() { cancel(fmt.Errorf("waited for %s, and the job did no step for %s", what, patience)) })
	defer limit.Stop()
	err = d.jobs.Until(ctx, jobName, func(job trainingjob.Job) (bool, error) {
		if job.Status.Progress.Step > last.Status.Progress.Step {
			limit.Reset(patience)
		}
		last = job
		d.history.see(job)
		d.screen.job(job)
		if job.Is("Failed") {
			return false, fmt.Errorf("the job failed: %s", job.Condition("Failed").Message)
		}
		return enough(job)
	})
	d.screen.endLine()
	return last, err
}

// spotNodeOfJob is a spot node on which the job runs, and the node pool that it belongs to.
func (d *demo) spotNodeOfJob(ctx context.Context) (node, pool string, err error) {
	pods, err := d.cluster.Kubernetes.CoreV1().Pods(jobNamespace).List(ctx, metav1.ListOptions{LabelSelector: "sailor.dev/job-name=" + jobName})
	if err != nil {
		return "", "", err
	}
	best := 0
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == "" {
			continue
		}
		object, err := d.cluster.Kubernetes.CoreV1().Nodes().Get(ctx, pod.Spec.NodeName, metav1.GetOptions{})
		if err != nil {
			return "", "", err
		}
		gpus := int(object.Status.Allocatable.Name("nvidia.com/gpu", "").Value())
		if object.Labels["cloud.google.com/gke-spot"] == "true" && gpus > best {
			node, pool, best = object.Name, object.Labels["cloud.google.com/gke-nodepool"], gpus
		}
	}
	if node == "" {
		return "", "", errors.New("the job uses no spot node, so none of its nodes can be preempted")
	}
	return node, pool, nil
}
