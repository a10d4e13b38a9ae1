package kueue

import (
	"os"
	"testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
)

const accelerator = "nvidia-l4"

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	machines := config.Config{NodePools: []config.NodePool{{Name: "l4", Count: 1, CPU: 8, Accelerator: accelerator, GPUs: 4}}}
	os.Exit(testcluster.Main(m, testcluster.Options{Config: machines}, func(c *testcluster.Cluster) { cluster = c }))
}

// A part of the test per claim, because starting and removing Kueue takes as long as all of them.
func TestKueue(t *testing.T) {
	k := Start(t, cluster, Options{})
	for _, part := range []struct {
		claim string
		test  func(*testing.T, *Kueue)
	}{
		{"RunsAJobOnceItsQuotaIsThere", runsAJobOnceItsQuotaIsThere},
		{"AcceptsTheQueuesOfTheGuide", acceptsTheQueuesOfTheGuide},
		{"AdmitsAsManyPodsAsAFlavorHasQuotaFor", admitsAsManyPodsAsAFlavorHasQuotaFor},
		{"ChecksWorkloads", checksWorkloads},
		{"LetsAPreemptedWorkloadHoldItsQuotaUntilItIsReleased", letsAPreemptedWorkloadHoldItsQuotaUntilItIsReleased},
		{"TakesBackWhatAQueueHasBorrowed", takesBackWhatAQueueHasBorrowed},
		{"AdmitsWorkloadsAgainWhenTheirQueueIsResumed", admitsWorkloadsAgainWhenTheirQueueIsResumed},
		{"TakesBackTheQuotaOfReclaimablePods", takesBackTheQuotaOfReclaimablePods},
		{"LetsAnOwnedWorkloadHoldItsQuotaUntilItsFinalizerIsRemoved", letsAnOwnedWorkloadHoldItsQuotaUntilItsFinalizerIsRemoved},
	} {
		t.Run(part.claim, func(t *testing.T) { part.test(t, k) })
	}
}
