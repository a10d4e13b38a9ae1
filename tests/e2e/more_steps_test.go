package e2e

import (
	"slices"
	"strconv"
	"testing"

	"sailor.dev/tests/trainingjob"
)

func (w *world) podNames() []string {
	w.t.Helper()
	pods, err := w.pods(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	names := []string{}
	for _, pod := range pods {
		names = append(names, pod.Name+" "+string(pod.UID))
	}
	slices.Sort(names)
	return names
}

func TestAJobDoesMoreStepsIfItsStepsGrowWhileItTrains(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "growing", Steps: trainingjob.Endless})
	before := w.untilTraining()
	pods := w.podNames()
	const change = `{"spec": {"training": {"steps": 2000000}}}`
	if _, err := cluster.Kubectl(w.ctx, "-n", w.namespace, "patch", "tj", w.job, "--type=merge", "-p", change); err != nil {
		t.Fatal(err)
	}
	after := w.until("it trains with more steps", func(job trainingjob.Job) bool { return trains(job, before.Status.Plan.Generation) })
	if after.Status.Progress.StepsLost != 0 || after.NewestRescale().Reason != "SpecChanged" {
		t.Errorf("the change was %+v", after.NewestRescale())
	}
	if now := w.podNames(); !slices.Equal(now, pods) {
		t.Errorf("its pods are\n%v, not as before\n%v", now, pods)
	}
	if want := strconv.FormatInt(after.Status.Progress.Step, 10) + "/2000000"; after.Status.Progress.Completion != want {
		t.Errorf("its completion is %q, not %q", after.Status.Progress.Completion, want)
	}
}

func TestAJobGoesOnFromTheCheckpointOfADeletedJob(t *testing.T) {
	volume := temporaryFolder(t)
	first := start(t, trainingjob.Small{Name: "first", Steps: 40, Checkpoint: volume})
	ended := first.until("it is complete", func(job trainingjob.Job) bool { return job.Is("Complete") })
	first.delete()
	first.untilGone("pods")
	second := trainingjob.Small{Name: "second", Model: "small", Steps: 80, Checkpoint: volume, ResumeFrom: "first"}
	first.job = second.Name
	first.apply(second)
	job := first.until("the second job is complete", func(job trainingjob.Job) bool { return job.Is("Complete") })
	if progress := job.Status.Progress; progress.Step != 80 || progress.StepsLost != 0 || progress.FirstLoss != ended.Status.Progress.FirstLoss {
		t.Errorf("after a job with %+v it ended with %+v", ended.Status.Progress, progress)
	}
	if worst, best := trainingjob.Decimal(ended.Status.Progress.Loss), trainingjob.Decimal(job.Status.Progress.Loss); best >= worst {
		t.Errorf("its loss is %.3f after %.3f", best, worst)
	}
}

func TestAJobThatCannotResumeSaysSoAndDoesNotBeginAnew(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "orphan", Steps: 40, Checkpoint: temporaryFolder(t), ResumeFrom: "nobody", Extra: "  maxRestarts: 0"})
	job := w.until("it has failed", func(job trainingjob.Job) bool { return job.Is("Failed") })
	if message := job.Condition("Failed").Message; !contains(message, "checkpoint.resumeFrom names job nobody") || !contains(message, "/checkpoints/nobody/e2e-orphan/nobody") {
		t.Errorf("it says %q", message)
	}
	w.untilNoPodRuns()
}
