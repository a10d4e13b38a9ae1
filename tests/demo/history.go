package main

import (
	"fmt"

	"sailor.dev/tests/trainingjob"
)

// history records the states of the job for the summary.
type history struct {
	last  trainingjob.Job
	plans []seenPlan
}

// seenPlan compares what was planned with what was seen under one plan.
type seenPlan struct {
	plan            trainingjob.Plan
	tokensPerSecond int64 // the last that was measured under it
}

func (h *history) see(job trainingjob.Job) {
	h.last = job
	plan := job.Status.Plan
	if plan.Generation == 0 {
		return
	}
	if len(h.plans) == 0 || h.plans[len(h.plans)-1].plan.Generation != plan.Generation {
		h.plans = append(h.plans, seenPlan{plan: plan})
	}
	if job.Is("Running") && !job.Is("Rescaling") {
		h.plans[len(h.plans)-1].tokensPerSecond = job.Status.Progress.TokensPerSecond
	}
}

func (h history) preemptions() (count int) {
	for _, rescale := range h.last.Status.Rescales {
		if rescale.Reason == "NodePreempted" || rescale.Reason == "NodeTerminating" {
			count++
		}
	}
	return count
}

// row returns a function that prints a row of a summary, whose names are this wide.
func (s *screen) row(width int) func(name, format string, args ...any) {
	return func(name, format string, args ...any) {
		fmt.Fprintf(s.out, "  %-*s "+format+"\n", append([]any{width, name}, args...)...)
	}
}

func (s *screen) summary(h history) {
	progress := h.last.Status.Progress
	s.endLine()
	fmt.Fprintf(s.out, "\nSummary\n")
	row := s.row(12)
	row("steps", "%d of %d", progress.Step, progress.TotalSteps)
	row("loss", "%.3f at first, %.3f at last", trainingjob.Decimal(progress.FirstLoss), trainingjob.Decimal(progress.Loss))
	row("plans used", "%d", len(h.plans))
	for _, seen := range h.plans {
		row("", "%d: %d GPUs (%s), %d tokens/s planned, %d seen, $%.2f/h", seen.plan.Generation, seen.plan.TotalGPUs, poolsOf(seen.plan),
			seen.plan.Estimate.TokensPerSecond, seen.tokensPerSecond, trainingjob.Decimal(seen.plan.Estimate.CostPerHour))
	}
	for _, rescale := range h.last.Status.Rescales {
		row("rescale", "%s: plan %d to %d, %d to %d GPUs, %s s, %s", rescale.Reason, rescale.FromGeneration, rescale.ToGeneration,
			rescale.FromGPUs, rescale.ToGPUs, orDash(rescale.Seconds), lostIn(rescale))
		row("", "%s", stopOf(rescale))
	}
	row("preemptions", "%d", h.preemptions())
	row("steps lost", "%d", progress.StepsLost)
	row("dollars", "$%s", orDash(progress.DollarsSpent))
}

func lostIn(rescale trainingjob.Rescale) string {
	if rescale.StepsLost == trainingjob.UnknownSteps {
		return "steps lost unknown"
	}
	return fmt.Sprintf("%d steps lost", rescale.StepsLost)
}

// stopOf tells how long training stopped for a change, and when the job's state moved to other workers.
func stopOf(rescale trainingjob.Rescale) string {
	return fmt.Sprintf("training stopped for %s s; %.1f MB of state moved before, %.1f MB meanwhile", orDash(rescale.StoppedSeconds),
		float64(rescale.FollowedBytes)/1e6, float64(rescale.MovedBytes)/1e6)
}
