package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

// An elasticPool has no nodes, and an autoscaler makes some for pods that need them. Each has one GPU.
type elasticPool struct{ name, region, zone, accelerator string }

var (
	elasticL4 = elasticPool{"l4-elastic", "us-central1", "us-central1-c", "nvidia-l4"}
	elasticT4 = elasticPool{"t4-elastic", "us-west1", "us-west1-a", "nvidia-tesla-t4"}
)

// declare says to the operator that the pool may have this many nodes, until the test ends.
func (p elasticPool) declare(t *testing.T, most int) {
	t.Helper()
	pool := fmt.Sprintf(`apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {name: %s}
spec: {region: %s, zone: %s, accelerator: %s, provisioning: Spot, gpusPerNode: 1, maxNodes: %d}
`, p.name, p.region, p.zone, p.accelerator, most)
	if _, err := cluster.KubectlWithInput(testContext(t), pool, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := cluster.Kubectl(testContext(t), "delete", "gpupool", p.name); err != nil {
			t.Error(err)
		}
	})
}

// hasOnly says how many further nodes the cloud can give, until the test ends.
func (p elasticPool) hasOnly(t *testing.T, nodes int) {
	t.Helper()
	if err := cluster.SetStock(testContext(t), p.name, nodes); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.SetUnlimitedStock(testContext(t), p.name); err != nil {
			t.Error(err)
		}
	})
}

func (p elasticPool) status(ctx context.Context, field string) (string, error) {
	return cluster.Kubectl(ctx, "get", "gpupool", p.name, "-o", "jsonpath={.status."+field+"}")
}

// startOnOneElasticNode starts a job on the only node of the L4 pool.
func startOnOneElasticNode(t *testing.T, name string) (*world, trainingjob.Job) {
	t.Helper()
	w := newWorld(t, trainingjob.Small{Name: name}, nil)
	if _, err := cluster.Add(w.ctx, elasticL4.name); err != nil {
		t.Fatal(err)
	}
	w.apply(trainingjob.Small{Name: name, Steps: trainingjob.Endless, Resources: "{zones: [" + elasticL4.zone + "]}"})
	return w, w.untilTraining()
}

// mustRunOnlyIn fails if a pod of the job is on a node of another pool.
func (w *world) mustRunOnlyIn(pool elasticPool, nodes int) {
	w.t.Helper()
	names, err := trainingjob.Nodes(w.ctx, cluster.Kubernetes, w.namespace, w.job)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		if !strings.Contains(name, pool.name) {
			w.t.Errorf("a pod runs on node %s, which is not one of pool %s", name, pool.name)
		}
	}
	if len(names) != nodes {
		w.t.Errorf("it runs on the nodes %v; want %d", names, nodes)
	}
}

func TestAJobGrowsFromOneNodeToAllThatItsPoolMayHave(t *testing.T) {
	w, one := startOnOneElasticNode(t, "grows")
	elasticL4.declare(t, 3)
	w.until("it waits for new nodes and trains", func(job trainingjob.Job) bool {
		return job.Condition("PodsReady").Reason == "WaitingForNodes" && job.Status.State == "Running" &&
			contains(job.Condition("PodsReady").Message, "GpuPool l4-elastic")
	})
	testcluster.Eventually(t, oneChange, "the pool to say what it is asked for", func(ctx context.Context) (bool, error) {
		awaited, err := elasticL4.status(ctx, "awaitedNodes")
		return awaited == "2", err
	})
	grown := w.until("it trains on three GPUs", func(job trainingjob.Job) bool {
		return job.Status.Plan.TotalGPUs == 3 && trains(job, one.Status.Plan.Generation)
	})
	if grown.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost", grown.Status.Progress.StepsLost)
	}
	w.mustRunOnlyIn(elasticL4, 3)
}

func TestAJobUsesThoseNewNodesThatTheCloudHas(t *testing.T) {
	elasticL4.hasOnly(t, 1)
	w, one := startOnOneElasticNode(t, "partial")
	elasticL4.declare(t, 3)
	grown := w.until("it trains on two GPUs", func(job trainingjob.Job) bool {
		return job.Status.Plan.TotalGPUs == 2 && trains(job, one.Status.Plan.Generation)
	})
	if grown.Status.Progress.StepsLost != 0 {
		t.Errorf("%d steps were lost", grown.Status.Progress.StepsLost)
	}
	w.mustRunOnlyIn(elasticL4, 2)
	testcluster.Eventually(t, oneChange, "the pool to say what the cloud has said", func(ctx context.Context) (bool, error) {
		refusal, err := elasticL4.status(ctx, "lastRefusal.message")
		return contains(refusal, "GCE out of resources"), err
	})
}

func TestAJobStartsInAnotherPoolIfTheFirstIsSoldOut(t *testing.T) {
	for _, pool := range []elasticPool{elasticL4, elasticT4} {
		pool.declare(t, 1)
	}
	elasticT4.hasOnly(t, 0) // the cheaper one
	w := start(t, trainingjob.Small{Name: "sold-out", Steps: trainingjob.Endless,
		Resources: fmt.Sprintf("{zones: [%s, %s], maxGpus: 1}", elasticL4.zone, elasticT4.zone)})
	w.untilTraining()
	w.mustRunOnlyIn(elasticL4, 1)
	refusal, err := elasticT4.status(w.ctx, "lastRefusal.message")
	if err != nil || !contains(refusal, "GCE out of resources") {
		t.Errorf("the pool that is sold out says %q (%v)", refusal, err)
	}
}

func TestAJobGetsANewNodeInsteadOfEvictingAPodOfLowerPriority(t *testing.T) {
	priorityClasses(t)
	low := newWorld(t, trainingjob.Small{Name: "stays"}, nil)
	if _, err := cluster.Add(low.ctx, elasticL4.name); err != nil {
		t.Fatal(err)
	}
	resources := "{zones: [" + elasticL4.zone + "], maxGpus: 1}"
	low.apply(trainingjob.Small{Name: "stays", Steps: trainingjob.Endless, Resources: resources, Extra: "  priorityClassName: e2e-low"})
	before := low.untilTraining()
	elasticL4.declare(t, 2)
	high := start(t, trainingjob.Small{Name: "comes", Steps: trainingjob.Endless, Resources: resources, Extra: "  priorityClassName: e2e-high"})
	high.untilTraining()
	high.mustRunOnlyIn(elasticL4, 1)
	after := low.until("it has done ten steps more", func(job trainingjob.Job) bool {
		return job.Is("Running") && job.Status.Progress.Step > before.Status.Progress.Step+10
	})
	low.mustHaveKeptItsPlan(before, after)
	low.delete() // the end of the other job waits until the autoscaler has removed all nodes
}
