package crds

import (
	"strings"
	"testing"
)

const status = `{"status": {
  "observedGeneration": 1, "state": "Running", "reason": "Training", "restarts": 1, "startTime": "2025-06-01T12:00:00Z",
  "conditions": [{"type": "Running", "status": "True", "reason": "Training", "message": "Step 120 of 600.",
    "lastTransitionTime": "2025-06-01T12:00:05Z", "observedGeneration": 1}],
  "gpus": 6, "plan": {"generation": 3, "hash": "00c0ffee00c0ffee", "configMap": "shown-plan", "totalGpus": 6,
    "gpus": [{"pool": "us-central1-a/nvidia-l4/ondemand", "gpus": 2}, {"pool": "us-west1-b/nvidia-tesla-t4/spot", "gpus": 4}],
    "estimate": {"iterationSeconds": "0.08", "tokensPerSecond": 51200, "costPerIteration": "0.0001", "costPerHour": "3.9"}},
  "progress": {"step": 120, "totalSteps": 600, "completion": "120/600", "firstLoss": "5.61", "loss": "2.34", "tokensPerSecond": 48123, "tokens": 491520,
    "stepsLost": 1, "furthestStep": 120, "usefulSeconds": "290.5", "elapsedSeconds": "300.0", "dollarsSpent": "0.012", "dollarsPerHour": "4.5", "lastCheckpointStep": 100, "time": "2025-06-01T12:05:00Z"},
  "rescales": [{"time": "2025-06-01T12:01:00Z", "reason": "NodePreempted", "fromGeneration": 2, "toGeneration": 3, "fromGpus": 8,
    "toGpus": 6, "seconds": "1.5", "stepsLost": 1}]}}`

func writeStatus(t *testing.T, name, change string) error {
	t.Helper()
	_, err := cluster.Kubectl(testContext(t), "patch", "tj", name, "--subresource=status", "--type=merge", "-p", change)
	return err
}

func TestATableShowsStateGpusStepSpeedAndPrice(t *testing.T) {
	create(t, "shown", "")
	if err := writeStatus(t, "shown", status); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want [2]string // the fields of its lines; the age follows
	}{
		{[]string{"get", "tj", "shown"}, [2]string{"NAME STATE REASON GPUS STEP TOKENS/S $/H AGE", "shown Running Training 6 120/600 48123 4.5"}},
		{[]string{"get", "tj", "shown", "-o", "wide"}, [2]string{"NAME STATE REASON GPUS STEP TOKENS/S $/H LOSS PLAN AGE", "shown Running Training 6 120/600 48123 4.5 2.34 3"}},
	} {
		lines := strings.Split(kubectl(t, test.args...), "\n")
		header, row := strings.Fields(lines[0]), strings.Fields(lines[1])
		if got := strings.Join(header, " "); got != test.want[0] {
			t.Errorf("the columns are %q, not %q", got, test.want[0])
		}
		if got := strings.Join(row[:len(row)-1], " "); got != test.want[1] {
			t.Errorf("the row is %q, not %q", got, test.want[1])
		}
	}
	if names := kubectl(t, "get", "sailor", "-o", "name"); !strings.Contains(names, "trainingjob.sailor.dev/shown") {
		t.Errorf("the category sailor lists %q", names)
	}
}

func TestAnEndedJobHoldsNoGpusAndHasNoPricePerHour(t *testing.T) {
	create(t, "ended", "")
	err := writeStatus(t, "ended", `{"status": {"state": "Complete", "reason": "Complete", "progress": {"completion": "600/600", "tokensPerSecond": 48123},
  "plan": {"generation": 3, "totalGpus": 6, "estimate": {"costPerHour": "3.9"}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	row := strings.Fields(kubectl(t, "get", "tj", "ended", "--no-headers"))
	if got, want := strings.Join(row[:len(row)-1], " "), "ended Complete Complete 600/600 48123"; got != want {
		t.Errorf("the row is %q, not %q", got, want)
	}
}

func TestTheWholeStatusIsKept(t *testing.T) {
	create(t, "kept", `, "resources": {"maxGpus": 8}`)
	if err := writeStatus(t, "kept", status); err != nil {
		t.Fatal(err)
	}
	text := kubectl(t, "get", "tj", "kept", "-o", "jsonpath={.status}")
	for _, part := range []string{`"firstLoss":"5.61"`, `"lastCheckpointStep":100`, `"time":"2025-06-01T12:05:00Z"`, `"configMap":"shown-plan"`, `"costPerIteration":"0.0001"`,
		`"pool":"us-west1-b/nvidia-tesla-t4/spot"`, `"toGeneration":3`, `"furthestStep":120`, `"usefulSeconds":"290.5"`, `"elapsedSeconds":"300.0"`, `"stepsLost":1`, `"observedGeneration":1`, `"restarts":1`} {
		if !strings.Contains(text, part) {
			t.Errorf("the status lost %s: %s", part, text)
		}
	}
	if replicas := kubectl(t, "get", "--raw", "/apis/sailor.dev/v1alpha1/namespaces/default/trainingjobs/kept/scale"); !strings.Contains(replicas, `"status":{"replicas":6}`) {
		t.Errorf("the scale does not show the plan's GPUs: %s", replicas)
	}
}

func TestUsersCannotWriteTheStatusWithTheSpec(t *testing.T) {
	create(t, "subresource", "")
	if err := patch(t, "subresource", status); err != nil {
		t.Fatal(err)
	}
	if text := kubectl(t, "get", "tj", "subresource", "-o", "jsonpath={.status}"); text != "" {
		t.Errorf("the status became %s", text)
	}
}

func TestAConditionNeedsAReasonAndAKnownStatus(t *testing.T) {
	create(t, "conditions", "")
	err := writeStatus(t, "conditions", `{"status": {"conditions": [{"type": "Running", "status": "Maybe"}]}}`)
	if err == nil {
		t.Fatal("a condition without a reason was accepted")
	}
	for _, part := range []string{"reason: Required value", "message: Required value", `Unsupported value: "Maybe"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
}
