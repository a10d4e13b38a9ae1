package main

import (
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/cluster/control"
)

func TestTheListOfPoolsHasADashForWhatAPoolDoesNotHave(t *testing.T) {
	two, end := 2, time.Date(2026, 1, 1, 9, 8, 7, 0, time.Local)
	var got strings.Builder
	err := printPools(&got, []control.Pool{
		{Name: "fixed", Count: 3},
		{Name: "grows", Count: 1, Limits: &control.Limits{Min: 1, Max: 4}, Upcoming: 2},
		{Name: "sold-out", Limits: &control.Limits{Max: 4}, Stock: &two, BackoffUntil: &end},
	})
	want := `NAME      COUNT  MIN  MAX  UPCOMING  STOCK      BACKOFF-UNTIL
fixed     3      -    -    0         -          -
grows     1      1    4    2         unlimited  -
sold-out  0      0    4    0         2          09:08:07
`
	if err != nil || got.String() != want {
		t.Errorf("got (%v)\n%swant\n%s", err, got.String(), want)
	}
}
