package slowgpu

import (
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/trainingjob"
)

func TestTheBoundIsTheNumberOfGpusOverTheSumOfTheirSpeeds(t *testing.T) {
	for _, c := range []struct {
		Case
		want time.Duration
	}{
		{Case{Workers: 2, Factor: 1}, time.Second},
		{Case{Workers: 2, Factor: 4}, 1600 * time.Millisecond}, // 2 / 1.25
		{Case{Workers: 4, Factor: 2}, time.Second * 8 / 7},
	} {
		if got := c.Bound(time.Second); got != c.want {
			t.Errorf("with %d GPUs, one of them %g times as slow, it is %s, not %s", c.Workers, c.Factor, got, c.want)
		}
	}
}

func TestTheChartHasABarForEachStepAndALineForEachMark(t *testing.T) {
	began := time.Now()
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	seen := Result{Usual: time.Second, Marks: []Mark{{at(3), "one GPU is slow"}, {at(14), "new plan"}}}
	for step, second := range []float64{0, 1, 2, 3, 7, 11, 15, 16.3} {
		seen.Steps = append(seen.Steps, trainingjob.Sample{Time: at(second), Generation: 1, Step: int64(step)})
	}
	chart := Chart(Case{Workers: 4, Factor: 4}, seen)
	if bars := strings.Count(chart, "fill-opacity"); bars != len(seen.Steps)-1 {
		t.Errorf("%d steps have %d bars", len(seen.Steps)-1, bars)
	}
	for _, mark := range seen.Marks {
		if !strings.Contains(chart, ">"+mark.Text+"<") {
			t.Errorf("the mark %q is missing", mark.Text)
		}
	}
}
