package trainingjob

import (
	"bytes"
	"strconv"
	"text/template"
)

// Small is a job for tests and benchmarks: its steps take tens of milliseconds on a processor. Empty fields have defaults.
type Small struct {
	Name       string
	Queue      string // of Kueue
	Priority   string // the WorkloadPriorityClass in the queue
	Model      string // the name by which its profile is found; default "small"
	Config     string // YAML of further fields of spec.model.config; 4 small layers
	Steps      int
	Batch      int    // sequences of a step; 16
	Data       string // path; the licence texts of Debian
	Resources  string // YAML of spec.resources
	Checkpoint string // folder on the nodes, of which it uses the one with its name; no checkpoints
	ResumeFrom string // the name of the job with whose state it begins, and whose folder it uses
	Optimizer  string // YAML of spec.training.optimizer; learns fast, and so lets rounding errors grow
	Extra      string // further YAML lines of spec
}

// Endless is more steps than anyone waits for.
const Endless = 1_000_000

var small = template.Must(template.New("job").Parse(`apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata:
  name: {{.Name}}
{{- if .Queue}}
  labels: {kueue.x-k8s.io/queue-name: {{.Queue}}{{with .Priority}}, kueue.x-k8s.io/priority-class: {{.}}{{end}}}
{{- end}}
spec:
  model:
    config: {name: {{or .Model "small"}}, family: gpt2, {{or .Config "layers: 4, hiddenSize: 64, heads: 4, ffnSize: 256, vocabSize: 256, maxPositions: 64"}}}
  training:
    globalBatchSize: {{or .Batch 16}}
    sequenceLength: 64
    microbatchSizes: [1, 2]
    steps: {{.Steps}}
    optimizer: {{or .Optimizer "{learningRate: \"3e-3\"}"}}
  data: {format: Bytes, path: {{or .Data "/usr/share/common-licenses/*"}}}
  resources: {{or .Resources "{}"}}
{{- if .Checkpoint}}
  checkpoint: {path: /checkpoints/{{or .ResumeFrom .Name}}, everySteps: 20{{with .ResumeFrom}}, resumeFrom: {job: {{.}}}{{end}}}
  podTemplate:
    spec:
      volumes: [{name: checkpoints, hostPath: {path: {{.Checkpoint}}, type: DirectoryOrCreate}}]
      containers: [{name: trainer, volumeMounts: [{name: checkpoints, mountPath: /checkpoints}]}]
{{- end}}
{{.Extra}}
`))

// Large changes the job to GPT-2 124M, which has 1.5 GB of weights and moments, on two nodes of two workers. On a machine with
// two cores its steps take some seconds.
func (s Small) Large() Small {
	s.Model, s.Config = "large", "layers: 12, hiddenSize: 768, heads: 12, ffnSize: 3072, vocabSize: 50257, maxPositions: 1024"
	s.Batch, s.Resources = 8, "{accelerators: [nvidia-l4]}"
	return s
}

// Pace is the time that a replica with this number of GPUs needs for the forward pass of one layer with one sequence. The
// backward pass takes twice as long.
type Pace struct {
	TensorParallel int
	Seconds        float64
	Ends           float64 // the same for the first and the last layer; 0: as long as the others
}

// SmallProfile returns a ModelProfile of the small model with which every further GPU is worth using. Without a profile the
// planner knows from the data sheets how small the model is, and uses one or two GPUs.
func SmallProfile(accelerator string) string {
	return Profile("small", 6, accelerator, Pace{TensorParallel: 1, Seconds: 0.1})
}

// StragglingPool is the pool of a Straggling job. Its nodes have one GPU each.
const StragglingPool = "t4-spot"

// Straggling is a job for tests of slow GPUs. Its microbatches take long beside the messages of a step.
func Straggling(name string, workers int) Small {
	return Small{
		Name: name, Model: "straggling", Steps: Endless, Batch: 32, Resources: "{maxGpus: " + strconv.Itoa(workers) + "}",
		Config: "layers: 4, hiddenSize: 128, heads: 4, ffnSize: 512, vocabSize: 256, maxPositions: 64",
		Extra:  "  podTemplate: {spec: {nodeSelector: {cloud.google.com/gke-nodepool: " + StragglingPool + "}}}",
	}
}

// StragglingProfile returns its ModelProfile. As with most models, the blocks take nearly all the time.
func StragglingProfile() string {
	return Profile("straggling", 6, "nvidia-tesla-t4", Pace{TensorParallel: 1, Seconds: 0.1, Ends: 0.005})
}

// LargeProfile is the same for Small.Large.
func LargeProfile(accelerator string) string {
	return Profile("large", 14, accelerator, Pace{TensorParallel: 1, Seconds: 0.1})
}

// Profile is a made up ModelProfile of a model with this number of layers, embedding and head included.
func Profile(model string, layers int, accelerator string, paces ...Pace) string {
	var text bytes.Buffer
	if err := profile.Execute(&text, map[string]any{"Model": model, "Layers": layers, "Accelerator": accelerator, "Paces": paces}); err != nil {
		panic(err) // the template and the map are ours
	}
	return text.String()
}

// layerRange is a part of the layers of a profile, all of which take the same time.
type layerRange struct {
	First, Last       int
	Forward, Backward float64
}

// ranges returns the parts of the layers that take the same time for a microbatch of this size.
func ranges(pace Pace, layers, microbatch int) []layerRange {
	of := func(first, last int, seconds float64) layerRange {
		return layerRange{first, last, seconds * float64(microbatch), 2 * seconds * float64(microbatch)}
	}
	if pace.Ends == 0 {
		return []layerRange{of(0, layers, pace.Seconds)}
	}
	return []layerRange{of(0, 1, pace.Ends), of(1, layers-1, pace.Seconds), of(layers-1, layers, pace.Ends)}
}

var profile = template.Must(template.New("profile").Funcs(template.FuncMap{"ranges": ranges}).Parse(`{{define "layers"}}[{{range $i, $range := .}}{{if $i}}, {{end}}{first: {{.First}}, last: {{.Last}}, forwardSeconds: "{{.Forward}}", backwardSeconds: "{{.Backward}}", updateSeconds: "0.001"}{{end}}]{{end -}}
apiVersion: sailor.dev/v1alpha1
kind: ModelProfile
metadata: {name: {{.Model}}-{{.Accelerator}}}
spec:
  model: {{.Model}}
  accelerator: {{.Accelerator}}
  precision: FP32
  sequenceLength: 64
  layers: {{.Layers}}
  source: made up
  times:
{{- range .Paces}}
  - tensorParallel: {{.TensorParallel}}
    microbatchSize: 1
    layers: {{template "layers" (ranges . $.Layers 1)}}
  - tensorParallel: {{.TensorParallel}}
    microbatchSize: 2
    layers: {{template "layers" (ranges . $.Layers 2)}}
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
