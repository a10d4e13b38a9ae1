package fleet_test

import (
	"context"
	"testing"
	"time"

	"sailor.dev/tests/fleet"
)

const (
	jobs     = 20
	ofEach   = 3 // jobs at rest
	noticed  = 5 // jobs that lose a node
	patience = 3 * time.Minute
)

// start runs a fleet with nodes for all jobs, and for those that lose one.
func start(ctx context.Context, t *testing.T) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Start(ctx, jobs*fleet.PodsOfJob+noticed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestAFleetStartsAnswersNoticesAndIsSilentAtRest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := start(ctx, t)
	if err := f.AddForeignPods(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	atRest, err := f.AtRest(ctx, ofEach, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if atRest.Writes() > 0 {
		t.Errorf("waiting, suspended and ended jobs cost %v writes", atRest.Requests)
	}
	if _, err := f.Begin(ctx, 0, jobs); err != nil {
		t.Fatal(err)
	}
	var losing []string
	for i := range noticed {
		losing = append(losing, fleet.JobName(i))
	}
	if times, err := f.Notices(ctx, losing); err != nil || len(times) != noticed {
		t.Fatalf("%d of %d notices were answered: %v", len(times), noticed, err)
	}
	before := len(f.Jobs.Moves())
	if _, err := f.ColdStart(ctx); err != nil {
		t.Fatal(err)
	}
	for _, move := range f.Jobs.Moves()[before:] {
		if move.To != "Running" && move.To != "Rescaling" { // a job that trains may change its plan at any time
			t.Errorf("the next operator changed the state of a job that goes on as before: %v", move)
		}
	}
	if err := f.Jobs.UntilState(ctx, "Running", jobs); err != nil {
		t.Errorf("under the next operator: %v", err)
	}
}

func TestABareClientMakesWhatTheOperatorMakes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	f := start(ctx, t)
	template, err := f.Template(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := 5 + fleet.PodsOfJob; template.Objects() != want { // the job, its record, plan, credentials and policy, and its pods
		t.Errorf("a job has %d objects, not %d", template.Objects(), want)
	}
	if err := f.Scale(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Bare(ctx, template, 5); err != nil {
		t.Fatal(err)
	}
}
