package trainingjob

import "testing"

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
	r.note(7, 2)
	r.note(7, 2)
	if _, repeated := r.Curve(); repeated != 0 {
		t.Errorf("the same loss twice differs by %g", repeated)
	}
	r.note(7, 1)
	if _, repeated := r.Curve(); repeated != 0.5 {
		t.Errorf("2 and 1 differ by %g, not by a half", repeated)
	}
}
