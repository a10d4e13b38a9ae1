package crds

import (
	"strings"
	"testing"
)

func TestAPoolKeepsItsIdentityAndMayChangeItsPrice(t *testing.T) {
	const pool = `{"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "identity"}, "spec": {"region": "us-central1",
	  "zone": "us-central1-a", "accelerator": "nvidia-l4", "provisioning": "Spot", "gpusPerNode": 2, "pricePerGpuHour": "0.28"}}`
	ctx := testContext(t)
	if _, err := cluster.KubectlWithInput(ctx, pool, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kubectl(t, "delete", "gpupool", "identity") })
	kubectl(t, "patch", "gpupool", "identity", "--type=merge", "-p", `{"spec": {"pricePerGpuHour": "0.30", "maxNodes": 4}}`)
	for _, change := range []string{`{"region": "us-east1"}`, `{"zone": "us-central1-b"}`, `{"accelerator": "nvidia-tesla-t4"}`, `{"provisioning": "OnDemand"}`} {
		_, err := cluster.Kubectl(ctx, "patch", "gpupool", "identity", "--type=merge", "-p", `{"spec": `+change+`}`)
		if err == nil || !strings.Contains(err.Error(), "create another GpuPool and delete this one") {
			t.Errorf("%s: %v", change, err)
		}
	}
	table := strings.Fields(kubectl(t, "get", "gpupools", "identity", "--no-headers"))
	if got := strings.Join(table[:len(table)-1], " "); got != "identity us-central1-a nvidia-l4 Spot 2 4 0.30" {
		t.Errorf("kubectl get gpupools shows %q", got)
	}
}
