package pace

import "time"

const (
	// most is the processor time for which a worker computes at a stretch, before it is stopped. With 1 ms, refilling the caches each
	// time made passes take 1.4 times as much processor time.
	most = 3 * time.Millisecond
	// lookEvery is the shortest time between two looks at a worker that runs.
	lookEvery = time.Millisecond
)

// budget decides when a worker runs that may use a part of a processor. Computing uses the budget up, and it grows while the worker is
// stopped. A worker that waits is not stopped, and gains nothing by it: so each piece of its work takes as many times as long as on a
// whole processor, however short it is. One that is stopped or continued too late is stopped for longer or shorter afterwards.
type budget struct {
	rate float64       // the part of a processor
	rest time.Duration // below 0: the worker has used too much
	now  time.Duration // of the last look, from any zero
	used time.Duration // processor time that the worker had used by then
	runs bool
	next time.Duration // when to look again
}

// budgetOf returns that of a worker that is stopped now and has used this much processor time so far.
func budgetOf(rate float64, now, used time.Duration) budget {
	return budget{rate: rate, now: now, used: used, next: now}
}

// look takes what the worker has used so far into account, and decides whether it runs until the next look. It reports whether
// the worker has to be stopped or continued for that.
func (b *budget) look(now, used time.Duration) (changed bool) {
	if b.runs {
		b.rest -= scaled(used-b.used, 1-b.rate)
	} else {
		b.rest += scaled(now-b.now, b.rate)
	}
	b.now, b.used = now, used
	runs := b.rest >= most || b.runs && b.rest > 0
	if runs {
		b.next = now + max(lookEvery, scaled(b.rest, 1/(1-b.rate)))
	} else {
		b.next = now + scaled(most-b.rest, 1/b.rate)
	}
	changed, b.runs = runs != b.runs, runs
	return changed
}

func scaled(t time.Duration, factor float64) time.Duration { return time.Duration(factor * float64(t)) }
