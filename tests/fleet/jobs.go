package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Jobs follows the TrainingJobs and JobRecords of the fleet as the API server tells of them.
type Jobs struct {
	client *rest.RESTClient

	mu      sync.Mutex
	changed chan struct{}      // closed and replaced with each change
	states  map[string]string  // of jobs, by name
	running map[string]int64   // the generation of the plan with which a job was last seen Running
	records map[string]written // by name
	moves   []Move             // all changes of the state of a job
}

// written is the newest write of a JobRecord.
type written struct {
	generation int64
	at         time.Time // when the API server told of the first write of this generation
}

// Move is a change of the state of a job.
type Move struct{ Job, From, To string }

// change is a line of a watch, with what we look at.
type change struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			Generation int64 `json:"generation"`
		} `json:"spec"`
		Status struct {
			State string `json:"state"`
			Plan  struct {
				Generation int64 `json:"generation"`
			} `json:"plan"`
		} `json:"status"`
	} `json:"object"`
}

// watchJobs begins with an empty fleet. It ends with ctx.
func watchJobs(ctx context.Context, config *rest.Config) (*Jobs, error) {
	settings := rest.CopyConfig(config)
	settings.APIPath, settings.GroupVersion = "/apis", &schema.GroupVersion{Group: "sailor.dev", Version: "v1alpha1"}
	settings.NegotiatedSerializer = serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}
	client, err := rest.RESTClientFor(settings)
	if err != nil {
		return nil, err
	}
	j := &Jobs{client: client, changed: make(chan struct{}), states: map[string]string{}, running: map[string]int64{}, records: map[string]written{}}
	go j.watch(ctx, "trainingjobs", j.noteJob)
	go j.watch(ctx, "jobrecords", j.noteRecord)
	return j, nil
}

// watch goes on with the last version that it has read when the API server ends the request.
func (j *Jobs) watch(ctx context.Context, resource string, note func(change)) {
	version := "0"
	for ctx.Err() == nil {
		if err := j.watchOnce(ctx, resource, &version, note); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "watching %s: %v\n", resource, err)
			time.Sleep(time.Second)
		}
	}
}

func (j *Jobs) watchOnce(ctx context.Context, resource string, version *string, note func(change)) error {
	stream, err := j.client.Get().Namespace(Namespace).Resource(resource).Param("watch", "true").Param("resourceVersion", *version).
		Param("allowWatchBookmarks", "true").Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the API server ends watches now and then
		}
		var one change
		if err := json.Unmarshal(line, &one); err != nil {
			return err
		}
		if one.Type == "ERROR" {
			return errors.New(string(line))
		}
		*version = one.Object.Metadata.ResourceVersion
		if one.Type != "BOOKMARK" {
			note(one)
		}
	}
}

func (j *Jobs) noteJob(one change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name, status := one.Object.Metadata.Name, one.Object.Status
	if one.Type == "DELETED" {
		delete(j.states, name)
		delete(j.running, name)
	} else {
		if before, known := j.states[name]; known && before != status.State {
			j.moves = append(j.moves, Move{name, before, status.State})
		}
		j.states[name] = status.State
		if status.State == "Running" {
			j.running[name] = status.Plan.Generation
		}
	}
	j.tell()
}

func (j *Jobs) noteRecord(one change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name := one.Object.Metadata.Name
	if known, ok := j.records[name]; ok && known.generation >= one.Object.Spec.Generation {
		return
	}
	j.records[name] = written{one.Object.Spec.Generation, time.Now()}
	j.tell()
}

func (j *Jobs) tell() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// InState counts the jobs in a state.
func (j *Jobs) InState(state string) (count int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, one := range j.states {
		if one == state {
			count++
		}
	}
	return count
}

// States counts the jobs in each state.
func (j *Jobs) States() map[string]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	counts := map[string]int{}
	for _, one := range j.states {
		counts[one]++
	}
	return counts
}

// Moves are all changes of the state of a job until now, the first one first.
func (j *Jobs) Moves() []Move {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.moves)
}

// UntilState returns when as many jobs are in the state.
func (j *Jobs) UntilState(ctx context.Context, state string, count int) error {
	err := j.until(ctx, func() bool { return j.InState(state) >= count })
	if err != nil {
		return fmt.Errorf("waiting for %d jobs to be %s; they are %v: %w", count, state, j.States(), err)
	}
	return nil
}

// recordOf returns the newest write of a job's record.
func (j *Jobs) recordOf(job string) written {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.records[job]
}

// runsIn tells whether the job was seen Running with this generation, or a newer one, and is still Running.
func (j *Jobs) runsIn(job string, generation int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.states[job] == "Running" && j.running[job] >= generation
}

// until returns when something holds of the jobs.
func (j *Jobs) until(ctx context.Context, holds func() bool) error {
	for {
		j.mu.Lock()
		changed := j.changed
		j.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
