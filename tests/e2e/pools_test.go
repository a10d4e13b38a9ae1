package e2e

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

// fieldsOfPools returns these fields of each GpuPool as `kubectl get` prints them, by the pool's name.
func fieldsOfPools(ctx context.Context, fields ...string) (map[string]string, error) {
	columns := "-o=custom-columns=NAME:.metadata.name"
	for _, field := range fields {
		columns += ",X:" + field
	}
	text, err := cluster.Kubectl(ctx, "get", "gpupools", "--no-headers", columns)
	if err != nil {
		return nil, err
	}
	pools := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		pools[name] = strings.Join(strings.Fields(rest), " ")
	}
	return pools, nil
}

func TestPoolsShowTheirNodesAndGPUsAndNothingIsWrittenAtRest(t *testing.T) {
	w := start(t, trainingjob.Small{Name: "pools", Steps: trainingjob.Endless})
	w.untilTraining()
	shows := func(pool, want string) {
		t.Helper()
		testcluster.Eventually(t, oneChange, "pool "+pool+" to show "+want, func(ctx context.Context) (bool, error) {
			pools, err := fieldsOfPools(ctx, ".status.readyNodes", ".status.gpus.used", ".status.gpus.free", ".status.pricePerGpuHour")
			return pools[pool] == want, err
		})
	}
	shows("l4", "1 2 0 0.71")
	shows("l4-spot", "1 2 0 0.28")
	shows("t4-spot", "2 2 0 0.22")

	before, err := fieldsOfPools(w.ctx, ".metadata.resourceVersion")
	if err != nil {
		t.Fatal(err)
	}
	seen := w.untilTraining()
	w.until("it has done forty steps more", func(job trainingjob.Job) bool { return job.Status.Progress.Step > seen.Status.Progress.Step+40 })
	after, err := fieldsOfPools(w.ctx, ".metadata.resourceVersion")
	if err != nil {
		t.Fatal(err)
	}
	for pool, version := range before {
		if after[pool] != version {
			t.Errorf("pool %s was written although nothing of it has changed", pool)
		}
	}

	lossesOf := func(ctx context.Context) (float64, error) {
		pools, err := fieldsOfPools(ctx, ".status.history.losses")
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(pools["l4-spot"], 64)
	}
	lossesBefore, err := lossesOf(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Preempt(w.ctx, w.nodeOfJob("l4-spot"), time.Second); err != nil {
		t.Fatal(err)
	}
	shows("l4-spot", "0 0 0 0.28")
	testcluster.Eventually(t, oneChange, "the history of pool l4-spot to count the loss", func(ctx context.Context) (bool, error) {
		losses, err := lossesOf(ctx)
		return losses > lossesBefore+0.5, err
	})
}
