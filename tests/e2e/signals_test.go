package e2e

import (
	"slices"
	"testing"
	"time"

	"sailor.dev/tests/storm"
	"sailor.dev/tests/trainingjob"
)

// Two operators and all agents are killed and paused at random moments, operators also for longer than a Lease lasts (15 s).
func TestAJobWhoseOperatorsAndAgentsAreKilledAndPausedLearnsWhatAnUndisturbedOneDoes(t *testing.T) {
	signals, seed := number(t, "SAILOR_SIGNALS", signalsSent), number(t, "SAILOR_TEST_SEED", stormSeed)
	t.Logf("to repeat: SAILOR_SIGNALS=%d SAILOR_TEST_SEED=%d go test -run=%s ./e2e", signals, seed, t.Name())
	helm(t, "upgrade", "sailor", chartFolder(t), "--reuse-values", "--set", "replicas=2", "--wait")
	t.Cleanup(func() { helm(t, "rollback", "sailor", "--wait") })
	stormy{
		// Each agent that is killed is a failure of the trainer, and would end the job after ten of them.
		job:    trainingjob.Small{Name: "signals", Steps: trainingjob.Endless, Optimizer: steadily, Extra: "  maxRestarts: 1000"},
		events: int(signals), perEvent: 6 * time.Second, perStep: time.Second,
		settles:  oneChange, // the kubelet starts an operator that was killed often after minutes only
		interval: trainingjob.ShortSteps,
	}.run(t, func(w *world) func(trainingjob.Job) {
		counts, err := storm.Signals{
			Number: int(signals), Seed: seed, Longest: 5 * time.Second, Say: t.Logf,
			Victims: []storm.Victims{
				{Name: "operator", Find: func() ([]storm.Process, error) { return storm.Processes(program(t, "sailor-operator")) },
					Kills: 1, Paused: 25 * time.Second}, // the kubelet waits longer from one start to the next
				{Name: "agent", Find: agents(t), Kills: 5, Paused: 10 * time.Second},
			},
		}.Send(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		return func(after trainingjob.Job) {
			t.Logf("%v: %d restarts", counts, after.Status.Restarts)
			if after.Status.Restarts > counts["kill agent"] {
				t.Errorf("%d restarts were counted, although only %d agents were killed", after.Status.Restarts, counts["kill agent"])
			}
		}
	})
}

// agents finds the agents of all pods, without their workers.
func agents(t *testing.T) func() ([]storm.Process, error) {
	return func() ([]storm.Process, error) {
		found, err := storm.Processes(program(t, "sailor-trainer"))
		return slices.DeleteFunc(found, func(process storm.Process) bool { return process.Kind != "agent" }), err
	}
}
