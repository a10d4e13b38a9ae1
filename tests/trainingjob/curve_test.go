package trainingjob

import (
	"slices"
	"testing"
	"time"
)

func TestCurvesAreComparedStepByStepRelativeToTheLoss(t *testing.T) {
	disturbed := Curve{1: 5, 2: 4.0004, 4: 3}
	common, worst, difference := disturbed.Compare(Curve{1: 5, 2: 4, 3: 3.5})
	if common != 2 || worst != 2 || difference < 0.99e-4 || difference > 1.01e-4 {
		t.Errorf("%d steps in common, most different at %d by %g", common, worst, difference)
	}
	if last := disturbed.Last(); last != 4 {
		t.Errorf("the last step is %d", last)
	}
}

func TestALossThatAStepHasTheSecondTimeIsHeldAgainstTheFirst(t *testing.T) {
	r := Recorder{curve: Curve{}}
	r.note(progress{Step: 7, Loss: 2})
	r.note(progress{Step: 7, Loss: 2})
	if _, repeated := r.Curve(); repeated != 0 {
		t.Errorf("the same loss twice differs by %g", repeated)
	}
	r.note(progress{Step: 7, Loss: 1})
	if _, repeated := r.Curve(); repeated != 0.5 {
		t.Errorf("2 and 1 differ by %g, not by a half", repeated)
	}
}

func TestTheFirstStepOfANewGenerationIsFoundWithTheOneBefore(t *testing.T) {
	r := Recorder{curve: Curve{}}
	for _, seen := range []progress{{Generation: 1, Step: 1}, {Generation: 1, Step: 2}, {Generation: 1, Step: 2}, {Generation: 3, Step: 3}} {
		r.note(seen)
	}
	first, before, seen := r.FirstStep(1)
	if !seen || first.Generation != 3 || first.Step != 3 || before.Step != 2 || first.Time.Before(before.Time) {
		t.Errorf("found %+v after %+v", first, before)
	}
	if _, _, seen := r.FirstStep(3); seen {
		t.Error("there is no generation newer than 3")
	}
}

func TestTheMeanStepIsThatOfTheNewestGenerationBetweenTwoTimes(t *testing.T) {
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	r := Recorder{samples: []Sample{{at(0), 1, 1}, {at(1), 1, 2}, {at(10), 2, 3}, {at(14), 2, 4}, {at(16), 2, 5}, {at(99), 2, 6}}}
	for _, want := range []struct {
		from, until int
		mean        time.Duration
	}{{0, 5, time.Second}, {0, 20, 3 * time.Second}, {12, 20, 2 * time.Second}, {15, 20, 0}, {17, 20, 0}, {0, 10, 0}} {
		if mean := r.MeanStep(at(want.from), at(want.until)); mean != want.mean {
			t.Errorf("from %d to %d s a step takes %s, not %s", want.from, want.until, mean, want.mean)
		}
	}
}

func TestAnAgentThatHadRankZeroBeforeIsNotHeardAnyMore(t *testing.T) {
	r := &Recorder{curve: Curve{}}
	for _, p := range []progress{{Generation: 1, Step: 5}, {Generation: 2, Step: 6}, {Generation: 1, Step: 5}, {Generation: 2, Step: 7}} {
		r.note(p)
	}
	var steps []int64
	for _, sample := range r.Samples() {
		steps = append(steps, sample.Step)
	}
	if want := []int64{5, 6, 7}; !slices.Equal(steps, want) {
		t.Errorf("it has seen the steps %v, not %v", steps, want)
	}
}
