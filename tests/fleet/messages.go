package fleet

// The parts of the messages of docs/protocol.md that a simulated agent needs.

type assignment struct {
	Namespace   string         `json:"namespace"`
	Job         string         `json:"job"`
	JobUID      string         `json:"jobUid"`
	Generation  int64          `json:"generation"`
	Training    training       `json:"training"`
	Agents      []agentAddress `json:"agents"`
	Workers     []workerSlot   `json:"workers"`
	ReleasesGPU bool           `json:"releasesGpus"`
	Callback    string         `json:"callback"`
}

type training struct {
	Steps int64 `json:"steps"`
}

type agentAddress struct {
	Name string `json:"name"`
}

type workerSlot struct {
	Agent int   `json:"agent"`
	GPU   int   `json:"gpu"`
	Role  *role `json:"role"`
}

type role struct {
	Stage   int `json:"stage"`
	Replica int `json:"replica"`
	Shard   int `json:"shard"`
}

type agentReport struct {
	Agent              string         `json:"agent"`
	IsTerminating      bool           `json:"isTerminating"`
	Workers            []workerReport `json:"workers"`
	Callback           string         `json:"callback"`
	UnresponsivePeers  []string       `json:"unresponsivePeers"`
	AssignedGeneration int64          `json:"assignedGeneration"`
	PodUID             string         `json:"podUid"`
	CredentialsExpire  int64          `json:"credentialsExpire"`
	Progress           *jobProgress   `json:"progress,omitempty"`
}

type workerReport struct {
	GPU               int     `json:"gpu"`
	Phase             string  `json:"phase"`
	Generation        int64   `json:"generation"`
	Step              int64   `json:"step"`
	Message           string  `json:"message"`
	MicrobatchSeconds float64 `json:"microbatchSeconds,omitempty"`
}

type jobProgress struct {
	Generation         int64   `json:"generation"`
	Step               int64   `json:"step"`
	Loss               float64 `json:"loss"`
	FirstLoss          float64 `json:"firstLoss"`
	Tokens             int64   `json:"tokens"`
	TokensPerSecond    float64 `json:"tokensPerSecond"`
	StepSeconds        float64 `json:"stepSeconds"`
	LastCheckpointStep int64   `json:"lastCheckpointStep"`
	ResumedStep        int64   `json:"resumedStep"`
	StepsLost          int64   `json:"stepsLost"`
	StepsSkipped       int64   `json:"stepsSkipped"`
	Source             string  `json:"source"`
	StreamedBytes      int64   `json:"streamedBytes"`
	MovedBytes         int64   `json:"movedBytes"`
	Times              times   `json:"times"`
}

type times struct {
	Regroup   float64 `json:"regroup"`
	Transfer  float64 `json:"transfer"`
	FirstStep float64 `json:"firstStep"`
	Stopped   float64 `json:"stopped"`
}
