package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"sailor.dev/tests/cluster/process"
	"sailor.dev/tests/trainingjob"
)

// The outage is longer than a job's lease (25 s), the operator's Lease (15 s), and the time after which a node counts as lost (40 s).
const outage = 75 * time.Second

// apiServer finds the process of the cluster's API server.
func apiServer(t *testing.T) int {
	t.Helper()
	tree, err := process.Tree(cluster.PID)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range tree {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.HasPrefix(string(command), "kube-apiserver\x00") {
			return pid
		}
	}
	t.Fatal("no kube-apiserver runs")
	return 0
}

// A job in several pods, and one in a single pod, which trains only while its lease is renewed.
func TestJobsTrainOnWhileTheAPIServerIsAway(t *testing.T) {
	alone := start(t, trainingjob.Small{Name: "alone", Steps: trainingjob.Endless, Resources: "{minGpus: 1, maxGpus: 1}", Checkpoint: temporaryFolder(t)})
	alone.untilTraining()
	spread := start(t, trainingjob.Small{Name: "spread", Steps: trainingjob.Endless, Resources: "{minGpus: 4, maxGpus: 4}"})
	spread.untilTraining()

	worlds := []*world{alone, spread}
	var before []trainingjob.Job
	var recorders []*trainingjob.Recorder
	for _, w := range worlds {
		before = append(before, w.untilTraining())
		recorder := trainingjob.Record(w.ctx, cluster.Kubernetes, w.namespace, w.job, 100*time.Millisecond)
		untilMoreSteps(t, recorder)
		recorders = append(recorders, recorder)
	}
	server := apiServer(t)
	if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	goesOn := func() { _ = syscall.Kill(server, syscall.SIGCONT) }
	t.Cleanup(goesOn)
	began := time.Now()
	time.Sleep(outage)
	for _, recorder := range recorders { // longer than all these times, the jobs still train
		untilMoreSteps(t, recorder)
	}
	t.Logf("the outage took %s", time.Since(began).Round(time.Second))
	goesOn()
	for i, w := range worlds {
		seen := w.present().Status.Progress.Step
		after := w.until("its operator reports steps again", func(job trainingjob.Job) bool { return job.Status.Progress.Step > seen+20 })
		w.mustHaveKeptItsPlan(before[i], after)
	}
}
