//go:build long

package e2e

import (
	"testing"
	"time"

	"sailor.dev/tests/storm"
	"sailor.dev/tests/trainingjob"
)

const eventsOfLargeStorm = 10 // the default; SAILOR_LARGE_STORM_EVENTS sets another number

// The job has 1.5 GB of weights and moments, and its steps take seconds.
func TestALargeJobUnderRandomEventsLearnsWhatAnUndisturbedOneDoes(t *testing.T) {
	events, seed := number(t, "SAILOR_LARGE_STORM_EVENTS", eventsOfLargeStorm), number(t, "SAILOR_TEST_SEED", stormSeed)
	t.Logf("to repeat: SAILOR_LARGE_STORM_EVENTS=%d SAILOR_TEST_SEED=%d go test -tags=long -run=%s ./e2e", events, seed, t.Name())
	job := trainingjob.Small{Name: "large-storm", Steps: trainingjob.Endless, Optimizer: steadily}.Large()
	job.Batch = 4 // shorter steps than those of the benchmark, because the undisturbed job has to do them all again on one GPU
	options := storm.Options{Events: int(events), Seed: seed, Frozen: time.Minute, Grace: 15 * time.Second, Longest: time.Minute}
	stormy{
		job: job, events: int(events),
		perEvent: 2 * time.Minute, perStep: 20 * time.Second, settles: 5 * time.Minute, interval: 100 * time.Millisecond,
	}.run(t, func(w *world) func(trainingjob.Job) { return w.hitNodes(options, "l4") })
}
