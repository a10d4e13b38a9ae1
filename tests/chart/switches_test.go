package chart

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

// switches are the values that turn parts of the chart on and off, each with what it is set to instead of the default.
var switches = []string{
	"leaderElection.enabled=false,replicas=1",
	"callback.enabled=false",
	"watchNamespaces={default,kube-public}",
	"networkPolicy.enabled=false",
	"statusPage.service=true",
	"podDisruptionBudget.enabled=false",
	"rbac.create=false",
	"rbac.aggregate=false",
	"serviceAccount.create=false",
	"metrics.service=false",
	"metrics.dashboards.enabled=true",
	"crds.enabled=false",
	"crds.keep=false",
	"networkModel.tiers.zone.latencyMicroseconds=500",
	"commonLabels.team=ml",
	"kueue.enabled=true",
}

// combinations returns eight sets of values in which each pair of switches is on, off and on, off and both ways round. The first one has
// no switch; each switch is in four of the other seven, and no two are in the same four. So any two share one, as four and four are more
// than seven, and each has one without the other (Kleitman and Spencer, 1973). This is enough for 35 switches.
func combinations() (sets []string) {
	values := make([][]string, 8)
	next := 0
	for members := range 1 << 7 {
		if bits.OnesCount(uint(members)) != 4 || next == len(switches) {
			continue
		}
		for c := range 7 {
			if members>>c&1 == 1 {
				values[c+1] = append(values[c+1], switches[next])
			}
		}
		next++
	}
	for _, set := range values {
		sets = append(sets, strings.Join(set, ","))
	}
	return sets
}

func TestTheAPIServerAcceptsAllPairsOfSwitches(t *testing.T) {
	kubectl(t, "create", "namespace", namespace)
	t.Cleanup(func() { kubectl(t, "delete", "namespace", namespace, "--wait") })
	for i, set := range combinations() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rendered, err := template(t, "--skip-tests", "--set", set) // a pod needs its service account to exist
			if err != nil {
				t.Fatalf("--set %s: %v", set, err)
			}
			if _, err := cluster.KubectlWithInput(testContext(t), rendered, "create", "--dry-run=server", "-f", "-"); err != nil {
				t.Errorf("--set %s: %v", set, err)
			}
		})
	}
}

func TestEachPairOfSwitchesIsCombinedInAllWays(t *testing.T) {
	sets := combinations()
	for a := range switches {
		for b := range a {
			seen := map[[2]bool]bool{}
			for _, set := range sets {
				list := "," + set + ","
				seen[[2]bool{strings.Contains(list, ","+switches[a]+","), strings.Contains(list, ","+switches[b]+",")}] = true
			}
			if len(seen) != 4 {
				t.Errorf("%s and %s have %d of 4 combinations", switches[a], switches[b], len(seen))
			}
		}
	}
}
