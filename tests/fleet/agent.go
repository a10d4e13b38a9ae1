package fleet

import (
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// agent plays the agent of one pod with one worker.
type agent struct {
	fleet                      *Agents
	namespace, name, uid, host string
	expires                    int64
	listener                   net.Listener
	askedAt                    atomic.Int64 // nanoseconds since 1970

	mu         sync.Mutex
	generation int64
	callback   string
	phase      string // of its worker; empty: Idle
	leads      bool   // its worker has rank 0
	run        *run
	hasEnded   bool
}

func (a *agent) answer(request *http.Request) (status int, body any) {
	switch request.Method + " " + request.URL.Path {
	case "GET /v1/state":
		return http.StatusOK, a.report()
	case "PUT /v1/assignment":
		var given assignment
		if err := json.NewDecoder(request.Body).Decode(&given); err != nil {
			return http.StatusBadRequest, map[string]string{"error": err.Error()}
		}
		if !a.take(given) {
			return http.StatusConflict, a.report()
		}
		return http.StatusOK, a.report()
	case "PUT /v1/callback":
		var given struct {
			Callback string `json:"callback"`
		}
		if err := json.NewDecoder(request.Body).Decode(&given); err != nil {
			return http.StatusBadRequest, map[string]string{"error": err.Error()}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.callback = given.Callback
		return http.StatusOK, a.reportLocked()
	}
	return http.StatusNotFound, map[string]string{"error": "a simulated agent does not serve this"}
}

// take obeys a newer assignment. The workers of the generation are connected at once.
func (a *agent) take(given assignment) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if given.Generation <= a.generation {
		return false
	}
	a.generation, a.callback, a.phase, a.leads = given.Generation, given.Callback, "Released", false
	a.run = a.fleet.runOf(given.JobUID)
	for rank, slot := range given.Workers {
		if slot.Role != nil && given.Agents[slot.Agent].Name == a.name {
			a.phase, a.leads = "Training", a.leads || rank == 0
		}
	}
	left := a.run.assign(given)
	if a.phase == "Training" && left < 24*time.Hour {
		time.AfterFunc(left, func() { a.finish(given.Generation) })
	}
	return true
}

// finish ends the pod after the last step, unless a newer generation has changed that.
func (a *agent) finish(generation int64) {
	a.mu.Lock()
	if a.generation != generation || a.hasEnded {
		a.mu.Unlock()
		return
	}
	a.phase, a.hasEnded = "Finished", true
	report, err := json.Marshal(a.reportLocked())
	a.mu.Unlock()
	if err == nil {
		a.fleet.ended(a.namespace, a.name, string(report))
	}
}

func (a *agent) report() agentReport {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reportLocked()
}

func (a *agent) reportLocked() agentReport {
	worker := workerReport{Phase: "Idle", Generation: a.generation}
	report := agentReport{Agent: a.name, Callback: a.callback, UnresponsivePeers: []string{}, AssignedGeneration: a.generation, PodUID: a.uid,
		CredentialsExpire: a.expires}
	if a.phase != "" {
		progress := a.run.progress()
		worker.Phase, worker.Step = a.phase, progress.Step
		if a.phase == "Training" {
			worker.MicrobatchSeconds = stepSeconds / 4
		}
		if a.leads {
			report.Progress = progress
		}
	}
	report.Workers = []workerReport{worker}
	return report
}
