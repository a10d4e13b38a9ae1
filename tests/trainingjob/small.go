package trainingjob

import (
	"bytes"
	"text/template"
)

// Small is a job for tests and benchmarks: its steps take tens of milliseconds on a processor. Empty fields have defaults.
type Small struct {
	Name       string
	Model      string // the name by which its profile is found; default "small"
	Steps      int
	Batch      int    // sequences of a step; 16
	Data       string // path; the licence texts of Debian
	Resources  string // YAML of spec.resources
	Checkpoint string // folder on the nodes, of which it uses the one with its name; no checkpoints
	Optimizer  string // YAML of spec.training.optimizer; learns fast, and so lets rounding errors grow
	Extra      string // further YAML lines of spec
}

// Endless is more steps than anyone waits for.
const Endless = 1_000_000

var small = template.Must(template.New("job").Parse(`apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {name: {{.Name}}}
spec:
  model:
    config: {name: {{or .Model "small"}}, family: gpt2, layers: 4, hiddenSize: 64, heads: 4, ffnSize: 256, vocabSize: 256, maxPositions: 64}
  training:
    globalBatchSize: {{or .Batch 16}}
    sequenceLength: 64
    microbatchSizes: [1, 2]
    steps: {{.Steps}}
    optimizer: {{or .Optimizer "{learningRate: \"3e-3\"}"}}
  data: {format: Bytes, path: {{or .Data "/usr/share/common-licenses/*"}}}
  resources: {{or .Resources "{}"}}
{{- if .Checkpoint}}
  checkpoint: {path: /checkpoints/{{.Name}}, everySteps: 20}
  podTemplate:
    spec:
      volumes: [{name: checkpoints, hostPath: {path: {{.Checkpoint}}, type: DirectoryOrCreate}}]
      containers: [{name: trainer, volumeMounts: [{name: checkpoints, mountPath: /checkpoints}]}]
{{- end}}
{{.Extra}}
`))

// Pace is the time that a replica with this number of GPUs needs for the forward pass of one layer with one sequence. The
// backward pass takes twice as long.
type Pace struct {
	TensorParallel int
	Seconds        float64
}

// SmallProfile returns a ModelProfile of the small model with which every further GPU is worth using. Without a profile the
// planner knows from the data sheets how small the model is, and uses one or two GPUs.
func SmallProfile(accelerator string) string {
	return Profile("small", accelerator, Pace{TensorParallel: 1, Seconds: 0.1})
}

// Profile is a made up ModelProfile of the small model under another name.
func Profile(model, accelerator string, paces ...Pace) string {
	var text bytes.Buffer
	if err := profile.Execute(&text, map[string]any{"Model": model, "Accelerator": accelerator, "Paces": paces}); err != nil {
		panic(err) // the template and the map are ours
	}
	return text.String()
}

var profile = template.Must(template.New("profile").Funcs(template.FuncMap{"times": func(a, b float64) float64 { return a * b }}).Parse(`apiVersion: sailor.dev/v1alpha1
kind: ModelProfile
metadata: {name: {{.Model}}-{{.Accelerator}}}
spec:
  model: {{.Model}}
  accelerator: {{.Accelerator}}
  precision: FP32
  sequenceLength: 64
  layers: 6
  source: made up
  times:
{{- range .Paces}}
  - tensorParallel: {{.TensorParallel}}
    microbatchSize: 1
    layers: [{first: 0, last: 6, forwardSeconds: "{{.Seconds}}", backwardSeconds: "{{times .Seconds 2}}", updateSeconds: "0.001"}]
  - tensorParallel: {{.TensorParallel}}
    microbatchSize: 2
    layers: [{first: 0, last: 6, forwardSeconds: "{{times .Seconds 2}}", backwardSeconds: "{{times .Seconds 4}}", updateSeconds: "0.001"}]
{{- end}}
`))

// Manifest is the job as YAML.
func (s Small) Manifest() string {
	var text bytes.Buffer
	if err := small.Execute(&text, s); err != nil {
		panic(err) // the template and the struct are ours
	}
	return text.String()
}
