package main

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/trainingjob"
)

func TestALineTellsStateStepLossSpeedPriceAndPools(t *testing.T) {
	job := trainingjob.Job{Status: trainingjob.Status{
		State:      "Running",
		Conditions: []metav1.Condition{{Type: "Running", Status: metav1.ConditionTrue}},
		Plan: trainingjob.Plan{Generation: 2, TotalGPUs: 3, Estimate: trainingjob.Estimate{CostPerHour: "9.87"},
			GPUs: []trainingjob.PoolGPUs{{Pool: "us-west1-b/nvidia-tesla-t4/ondemand", GPUs: 1}, {Pool: "us-central1-b/nvidia-l4/spot", GPUs: 2}}},
		Progress: trainingjob.Progress{Step: 7, TotalSteps: 9, Loss: "2.5", TokensPerSecond: 100, DollarsPerHour: "1.234"},
	}}
	want := "Running    step 7/9  loss 2.500  100 tokens/s  $1.23/h  plan 2: 3 GPUs (1 t4 us-west1-b, 2 l4 us-central1-b spot)"
	if line := describe(job); line != want {
		t.Errorf("\n%s\nis not\n%s", line, want)
	}
}

func TestALineLeavesOutASpeedThatIsNotMeasuredYet(t *testing.T) {
	job := trainingjob.Job{Status: trainingjob.Status{
		State:      "Running",
		Conditions: []metav1.Condition{{Type: "Running", Status: metav1.ConditionTrue}},
		Progress:   trainingjob.Progress{Step: 7, TotalSteps: 9, Loss: "2.5"},
	}}
	if line := describe(job); line != "Running    step 7/9  loss 2.500" {
		t.Error(line)
	}
}

func TestAWaitingJobTellsWhatItWaitsFor(t *testing.T) {
	job := trainingjob.Job{Status: trainingjob.Status{
		State:      "Waiting",
		Conditions: []metav1.Condition{{Type: "Planned", Status: metav1.ConditionFalse, Message: "no GPU is free"}},
	}}
	if line := describe(job); line != "Waiting    no GPU is free" {
		t.Error(line)
	}
}

func TestTheHistoryComparesEachPlanWithWhatWasSeenUnderIt(t *testing.T) {
	var h history
	see := func(generation, tokens int64, rescaling metav1.ConditionStatus) {
		h.see(trainingjob.Job{Status: trainingjob.Status{
			Conditions: []metav1.Condition{{Type: "Running", Status: metav1.ConditionTrue}, {Type: "Rescaling", Status: rescaling}},
			Plan:       trainingjob.Plan{Generation: generation},
			Progress:   trainingjob.Progress{TokensPerSecond: tokens},
		}})
	}
	see(1, 100, metav1.ConditionFalse)
	see(1, 110, metav1.ConditionFalse)
	see(2, 110, metav1.ConditionTrue) // still of the plan before
	see(2, 60, metav1.ConditionFalse)
	if len(h.plans) != 2 || h.plans[0].tokensPerSecond != 110 || h.plans[1].tokensPerSecond != 60 {
		t.Errorf("%+v", h.plans)
	}
}

func TestAChangeTellsWhenItsStateMoved(t *testing.T) {
	rescale := trainingjob.Rescale{StoppedSeconds: "0.412", FollowedBytes: 15_200_000, MovedBytes: 340_000}
	want := "training stopped for 0.412 s; 15.2 MB of state moved before, 0.3 MB meanwhile"
	if line := stopOf(rescale); line != want {
		t.Errorf("\n%s\nis not\n%s", line, want)
	}
	if line := stopOf(trainingjob.Rescale{}); line != "training stopped for - s; 0.0 MB of state moved before, 0.0 MB meanwhile" {
		t.Error(line)
	}
}

func TestAChangeDoesNotSayThatNothingWasLostIfThatIsUnknown(t *testing.T) {
	for text, want := range map[string]string{`{"reason": "Suspended"}`: "steps lost unknown", `{"stepsLost": 0}`: "0 steps lost"} {
		var rescale trainingjob.Rescale
		if err := json.Unmarshal([]byte(text), &rescale); err != nil {
			t.Fatal(err)
		}
		if line := lostIn(rescale); line != want {
			t.Errorf("%s: %q is not %q", text, line, want)
		}
	}
}
