package crds

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const minimal = `{"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": %q}, "spec": {
  "model": {"name": "gpt2"},
  "training": {"globalBatchSize": 64, "sequenceLength": 1024, "steps": 100},
  "data": {"format": "Tokens", "path": "/data/*.bin"}%s}}`

// create applies a minimal job with further fields of its spec, and deletes it with the test.
func create(t *testing.T, name, furtherSpec string) {
	t.Helper()
	if _, err := cluster.KubectlWithInput(testContext(t), fmt.Sprintf(minimal, name, furtherSpec), "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kubectl(t, "delete", "tj", name) })
}

func patch(t *testing.T, name, change string) error {
	t.Helper()
	_, err := cluster.Kubectl(testContext(t), "patch", "tj", name, "--type=merge", "-p", change)
	return err
}

func spec(t *testing.T, name string) map[string]any {
	t.Helper()
	var job struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal([]byte(kubectl(t, "get", "tj", name, "-o", "json")), &job); err != nil {
		t.Fatal(err)
	}
	return job.Spec
}

func TestAMinimalJobGetsTheDocumentedDefaultsAndNoLimit(t *testing.T) {
	create(t, "defaults", `, "activeDeadlineSeconds": null`)
	want := `{"data":{"format":"Tokens","path":"/data/*.bin"},"elasticity":{"lookAhead":"Auto","mode":"Live","redundancy":"Auto","streamingSlowdownPercent":10},"managedBy":"","maxRestarts":10,"model":{"name":"gpt2"},` +
		`"objective":{"type":"MaxThroughput"},"resources":{"minGpus":1,"provisioning":"Any"},"suspend":false,` +
		`"training":{"activationCheckpointing":"Never","globalBatchSize":64,"onNonFinite":"Stop","optimizer":{"beta1":"0.9","beta2":"0.95","epsilon":"1e-8",` +
		`"learningRate":"3e-4","name":"adamw","schedule":"Constant","warmupSteps":0,"weightDecay":"0.1"},"precision":"FP32","seed":1,` +
		`"sequenceLength":1024,"sequenceParallelism":"Never","steps":100}}`
	got, err := json.Marshal(spec(t, "defaults"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("the spec became\n%s\nnot\n%s", got, want)
	}
}

func TestWhatIsLearnedCannotChange(t *testing.T) {
	create(t, "learned", `, "checkpoint": {"path": "/checkpoints"}`)
	const another = "delete the job and create a new one"
	for field, test := range map[string]struct{ change, message string }{
		"spec.model":                    {`{"model": {"name": "opt-350m"}}`, "other weights are another run; " + another},
		"spec.training.globalBatchSize": {`{"training": {"globalBatchSize": 128}}`, another},
		"spec.training.sequenceLength":  {`{"training": {"sequenceLength": 512}}`, another},
		"spec.training.precision":       {`{"training": {"precision": "BF16"}}`, another},
		"spec.training.optimizer":       {`{"training": {"optimizer": {"clipNorm": "1"}}}`, another},
		"spec.training.steps":           {`{"training": {"steps": 99}}`, "steps can only grow"},
		"spec.training.seed":            {`{"training": {"seed": 2}}`, another},
		"spec.training.initialWeights":  {`{"training": {"initialWeights": "/weights"}}`, another},
		"spec.data":                     {`{"data": {"path": "/other/*.bin"}}`, another},
		"spec.managedBy":                {`{"managedBy": "example.com/queue"}`, "two controllers could act at once; " + another},
		"spec.checkpoint":               {`{"checkpoint": {"path": "/elsewhere"}}`, "a restart would not find the checkpoints"},
		"spec.checkpoint ":              {`{"checkpoint": null}`, "a restart would not find the checkpoints"},
		"spec.checkpoint  ":             {`{"checkpoint": {"resumeFrom": {"job": "other"}}}`, "determines how the job began and cannot change"},
	} {
		t.Run(strings.TrimPrefix(field, "spec."), func(t *testing.T) {
			err := patch(t, "learned", `{"spec": `+test.change+`}`)
			if err == nil {
				t.Fatalf("%s was accepted", test.change)
			}
			for _, part := range []string{strings.TrimSpace(field), test.message} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the message lacks %q:\n%v", part, err)
				}
			}
		})
	}
}

func TestStepsGrowUntilTheJobHasEnded(t *testing.T) {
	create(t, "growing", "")
	if err := patch(t, "growing", `{"spec": {"training": {"steps": 200}}}`); err != nil {
		t.Error(err)
	}
	if err := writeStatus(t, "growing", `{"status": {"state": "Complete"}}`); err != nil {
		t.Fatal(err)
	}
	err := patch(t, "growing", `{"spec": {"training": {"steps": 300}}}`)
	if err == nil || !strings.Contains(err.Error(), "the job has ended, so its steps cannot grow") {
		t.Errorf("steps of a job that has ended: %v", err)
	}
	if err := patch(t, "growing", `{"spec": {"ttlSecondsAfterFinished": 60}}`); err != nil {
		t.Errorf("another change of a job that has ended: %v", err)
	}
}

func TestStepsDoNotGrowIfTheLearningRateDependsOnThem(t *testing.T) {
	job := strings.Replace(fmt.Sprintf(minimal, "cosine", ""), `"steps": 100`, `"steps": 100, "optimizer": {"schedule": "Cosine"}`, 1)
	if _, err := cluster.KubectlWithInput(testContext(t), job, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kubectl(t, "delete", "tj", "cosine") })
	err := patch(t, "cosine", `{"spec": {"training": {"steps": 200}}}`)
	if err == nil || !strings.Contains(err.Error(), "steps can grow only with the schedule Constant") {
		t.Errorf("steps of a job with the schedule Cosine: %v", err)
	}
}

func TestTheJobToResumeFromCannotChange(t *testing.T) {
	create(t, "resumed", `, "checkpoint": {"path": "/checkpoints", "resumeFrom": {"job": "first", "step": 10}}`)
	for _, change := range []string{`{"job": "second"}`, `{"step": 20}`, `null`} {
		err := patch(t, "resumed", `{"spec": {"checkpoint": {"resumeFrom": `+change+`}}}`)
		if err == nil || !strings.Contains(err.Error(), "determines how the job began and cannot change") {
			t.Errorf("resumeFrom %s: %v", change, err)
		}
	}
}

func TestWhereAndHowItRunsMayChange(t *testing.T) {
	create(t, "steered", "")
	for _, change := range []string{
		`{"suspend": true}`,
		`{"objective": {"type": "MinCost", "minThroughput": "0.1"}}`,
		`{"resources": {"minGpus": 2, "maxGpus": 8, "zones": ["us-central1-a"], "accelerators": ["nvidia-l4"], "provisioning": "Spot"}}`,
		`{"training": {"microbatchSizes": [1, 2], "activationCheckpointing": "Auto", "sequenceParallelism": "Always"}}`,
		`{"elasticity": {"mode": "Restart"}}`,
		`{"checkpoint": {"path": "/checkpoints"}}`,
		`{"checkpoint": {"everySteps": 10, "everySeconds": 600, "keep": 1}}`,
		`{"maxRestarts": 0, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 0}`,
	} {
		if err := patch(t, "steered", `{"spec": `+change+`}`); err != nil {
			t.Errorf("%s: %v", change, err)
		}
	}
}

func TestScaleSetsTheMostGpusWithinTheRules(t *testing.T) {
	create(t, "scaled", `, "resources": {"minGpus": 4}`)
	kubectl(t, "scale", "tj/scaled", "--replicas=16")
	if got := spec(t, "scaled")["resources"].(map[string]any)["maxGpus"]; got != 16.0 {
		t.Errorf("maxGpus is %v, not 16", got)
	}
	_, err := cluster.Kubectl(testContext(t), "scale", "tj/scaled", "--replicas=2")
	if err == nil || !strings.Contains(err.Error(), "maxGpus must be at least minGpus") {
		t.Errorf("a scale below minGpus: %v", err)
	}
}

func TestThePodTemplateKeepsAnyFieldOfAPod(t *testing.T) {
	create(t, "template", `, "podTemplate": {"spec": {"runtimeClassName": "gvisor", "containers": [{"name": "trainer",
	  "env": [{"name": "A", "value": "b"}], "resources": {"limits": {"memory": "1Gi"}, "claims": [{"name": "nic"}]}}]}}`)
	text := kubectl(t, "get", "tj", "template", "-o", "jsonpath={.spec.podTemplate.spec}")
	for _, part := range []string{`"runtimeClassName":"gvisor"`, `"env":[{"name":"A","value":"b"}]`, `"claims":[{"name":"nic"}]`} {
		if !strings.Contains(text, part) {
			t.Errorf("the template lacks %s: %s", part, text)
		}
	}
}
