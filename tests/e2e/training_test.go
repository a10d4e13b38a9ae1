package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/trainingjob"
)

func TestAJobTrainsToItsEndAndItsLossFalls(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "complete", Steps: 40, Checkpoint: temporaryFolder(t)})
	job := w.until("it is complete", func(job trainingjob.Job) bool { return job.Is("Complete") })
	progress := job.Status.Progress
	if progress.Step != 40 || progress.Tokens != 40*16*64 {
		t.Errorf("it did %d steps and %d tokens, not 40 and %d", progress.Step, progress.Tokens, 40*16*64)
	}
	first, last := trainingjob.Decimal(progress.FirstLoss), trainingjob.Decimal(progress.Loss)
	if first < 4.5 || first > 6.5 || last > first-1 {
		t.Errorf("the loss went from %.3f to %.3f; about 5.5, then at least 1 less was expected", first, last)
	}
	if progress.LastCheckpointStep != 40 {
		t.Errorf("the last checkpoint is of step %d", progress.LastCheckpointStep)
	}
	if trainingjob.Decimal(progress.DollarsSpent) <= 0 {
		t.Errorf("it cost %q dollars", progress.DollarsSpent)
	}
	for _, condition := range job.Status.Conditions {
		if condition.ObservedGeneration != job.Generation {
			t.Errorf("condition %s answers generation %d of %d", condition.Type, condition.ObservedGeneration, job.Generation)
		}
	}
}

// The profile says that a group of two GPUs computes the layers ten times as fast as one GPU, so the planner makes such a group.
func TestAJobWhoseLayersAreSplitOverTheGpusOfANodeTrainsToItsEnd(t *testing.T) {
	profile := trainingjob.Profile("split", 6, "nvidia-l4", trainingjob.Pace{TensorParallel: 1, Seconds: 0.1}, trainingjob.Pace{TensorParallel: 2, Seconds: 0.01})
	if _, err := cluster.KubectlWithInput(testContext(t), profile, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := cluster.Kubectl(testContext(t), "delete", "modelprofile", "split-nvidia-l4"); err != nil {
			t.Error(err)
		}
	})
	w := start(t, trainingjob.Small{Name: "split", Model: "split", Steps: 30, Resources: "{accelerators: [nvidia-l4], maxGpus: 2}"})
	job := w.until("it is complete", func(job trainingjob.Job) bool { return job.Is("Complete") })
	if first, last := trainingjob.Decimal(job.Status.Progress.FirstLoss), trainingjob.Decimal(job.Status.Progress.Loss); last > first-1 {
		t.Errorf("the loss went from %.3f to %.3f; at least 1 less was expected", first, last)
	}
	plan, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "get", "configmap", job.Status.Plan.ConfigMap, "-o", `jsonpath={.data.plan\.json}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, `"tensorParallel": 2`) {
		t.Errorf("no group of two GPUs is in the plan:\n%s", plan)
	}
}

func TestAJobWhoseCheckpointFolderIsGoneTrainsOnSaysSoAndRecovers(t *testing.T) {
	volume := temporaryFolder(t)
	folder := filepath.Join(volume, "lost")
	w := start(t, trainingjob.Small{Name: "lost", Steps: trainingjob.Endless, Checkpoint: volume})
	before := w.until("it has a checkpoint", func(job trainingjob.Job) bool { return job.Status.Progress.LastCheckpointStep > 0 })
	file := filepath.Join(volume, "file") // takes the folder's place, because a folder that is only missing would be made again
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// In one operation: the worker may be writing a checkpoint, and whatever it writes would be in the way of a removal.
	if err := unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, folder, unix.RENAME_EXCHANGE); err != nil {
		t.Fatal(err)
	}
	troubled := w.until("it says so", func(job trainingjob.Job) bool {
		return job.Condition("Degraded").Reason == "WorkerReportsProblem" && strings.Contains(job.Condition("Degraded").Message, "/checkpoints/lost")
	})
	w.until("it trains on", func(job trainingjob.Job) bool {
		return job.Is("Running") && job.Status.Progress.Step > troubled.Status.Progress.Step+10
	})
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	after := w.until("it has a new checkpoint, and no more to complain of", func(job trainingjob.Job) bool {
		return job.Status.Progress.LastCheckpointStep > troubled.Status.Progress.LastCheckpointStep && !job.Is("Degraded")
	})
	w.mustHaveKeptItsPlan(before, after)
}

func TestTheStateIsReadableInOneLineAndInEvents(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "readable", Steps: trainingjob.Endless})
	w.untilTraining()
	table, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "get", "tj")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"STATE", "GPUS", "STEP", "TOKENS/S", "$/H", "AGE", "Running"} {
		if !strings.Contains(table, word) {
			t.Errorf("kubectl get tj does not show %s:\n%s", word, table)
		}
	}
	description, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "describe", "tj", w.job)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(description, "Planned") || !strings.Contains(description, "Events:") || strings.Contains(description, "Events:  <none>") {
		t.Errorf("kubectl describe shows no event:\n%s", description)
	}
}

func TestTrainerPodsHaveNoTokenAndAskForTheGpusOfTheirNode(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "pods", Steps: trainingjob.Endless})
	job := w.untilTraining()
	pods, err := w.pods(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	gpus := 0
	for _, pod := range pods {
		for _, volume := range pod.Spec.Volumes {
			if volume.Projected != nil {
				t.Errorf("pod %s has a token mounted", pod.Name)
			}
		}
		if owner := metav1.GetControllerOf(&pod); owner == nil || owner.UID != job.UID {
			t.Errorf("pod %s is not owned by its job", pod.Name)
		}
		limit := pod.Spec.Containers[0].Resources.Limits["nvidia.com/gpu"]
		gpus += int(limit.Value())
	}
	if gpus != job.Status.Plan.TotalGPUs {
		t.Errorf("the pods ask for %d GPUs, the plan for %d", gpus, job.Status.Plan.TotalGPUs)
	}
}

func TestASuspendedJobHasNoPodsAndResumesWhereItWas(t *testing.T) {
	spec := trainingjob.Small{Name: "suspend", Steps: trainingjob.Endless, Checkpoint: temporaryFolder(t)}
	w := start(t, spec)
	before := w.until("it has a checkpoint", func(job trainingjob.Job) bool { return job.Status.Progress.LastCheckpointStep > 0 })
	spec.Extra = "  suspend: true"
	w.apply(spec)
	stopped := w.until("it is suspended", func(job trainingjob.Job) bool { return job.Is("Suspended") })
	w.untilNoPods()
	spec.Extra = "  suspend: false"
	w.apply(spec)
	first := w.until("it trains", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if first.Status.Progress.Step < stopped.Status.Progress.Step {
		t.Errorf("it stopped at step %d and was seen at %d afterwards", stopped.Status.Progress.Step, first.Status.Progress.Step)
	}
	after := w.until("it continues", func(job trainingjob.Job) bool {
		return trains(job, before.Status.Plan.Generation) && job.Status.Progress.Step > stopped.Status.Progress.Step
	})
	if lost := after.Status.Progress.StepsLost; lost != 0 {
		t.Errorf("it lost %d steps", lost)
	}
	if rescales := after.Status.Rescales; rescales[len(rescales)-1].Reason != "Resumed" {
		t.Errorf("the history ends with %+v", rescales[len(rescales)-1])
	}
}

func TestADeletedJobLeavesNothing(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "delete", Steps: trainingjob.Endless})
	w.untilTraining()
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "delete", "tj", w.job); err != nil {
		t.Fatal(err)
	}
	w.untilNoPods()
	w.untilGone("configmaps")
}
