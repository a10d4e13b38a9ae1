package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// play looks at a worker for some time, each time too late by what the function returns. In each period the worker waits for a message
// first, and then computes whenever it runs until it has used this much processor time. It returns what the worker has used in all,
// and for how long it was stopped.
func play(b budget, end, wait, work time.Duration, late func() time.Duration) (used, stopped time.Duration) {
	waits, works := wait, work
	for now := b.now; now < end; {
		rest := b.next + late() - now
		now += rest
		if !b.runs {
			stopped += rest
		}
		for b.runs && rest > 0 {
			if part := min(rest, waits); part > 0 {
				rest, waits = rest-part, waits-part
				continue
			}
			part := min(rest, works)
			rest, works, used = rest-part, works-part, used+part
			if works == 0 {
				waits, works = wait, work
			}
		}
		b.look(now, used)
	}
	return used, stopped
}

func never() time.Duration { return 0 }

const aWhile = 20 * time.Second

func TestAWorkerUsesItsRateHoweverLateItIsStoppedAndContinued(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	for _, rate := range []float64{0.8, 0.4, 0.1, 0.05} {
		for _, worst := range []time.Duration{time.Microsecond, time.Millisecond, 20 * time.Millisecond} {
			late := func() time.Duration { return time.Duration(random.Int64N(int64(worst))) }
			used, _ := play(budgetOf(rate, 0, 0), aWhile, 0, aWhile, late)
			want := scaled(aWhile, rate)
			if difference := (used - want).Abs(); difference > scaled(most, 1/(1-rate))+lookEvery+2*worst {
				t.Errorf("with a rate of %g and looks up to %s late (seed %d) it uses %s, not %s", rate, worst, seed, used, want)
			}
		}
	}
}

func TestAPieceOfWorkTakesAsManyTimesAsLongHoweverShortItIs(t *testing.T) {
	const rate = 0.1
	for _, work := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		used, stopped := play(budgetOf(rate, 0, 0), 10*aWhile, 50*time.Millisecond, work, never)
		if got := (used + stopped).Seconds() / used.Seconds(); got < 0.95/rate || got > 1.05/rate {
			t.Errorf("pieces of %s take %.2f times as long", work, got)
		}
	}
}

func TestAWorkerThatWaitsIsNotStopped(t *testing.T) {
	b := budgetOf(0.05, 0, 0)
	for b.look(time.Second, 0); b.now < aWhile; {
		if b.look(b.next, 0); !b.runs {
			t.Fatalf("it is stopped after %s without having used anything", b.now)
		}
	}
}

func TestAWorkerThatHasUsedItsBudgetIsStoppedUntilItHasAllOfItAgain(t *testing.T) {
	b := budgetOf(0.5, 0, 0)
	if b.look(2*most, 0); !b.runs {
		t.Fatal("it does not run when it has all")
	}
	now := b.now + 2*most + 2*lookEvery
	if b.look(now, 2*most+2*lookEvery); b.runs {
		t.Fatal("it runs although it has used its budget")
	}
	if want := now + 2*(most+lookEvery); b.next != want {
		t.Errorf("it is to be continued after %s, not %s", b.next, want)
	}
}
