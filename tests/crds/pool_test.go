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
}

func TestATableOfPoolsShowsNodesUseAndPrice(t *testing.T) {
	const pool = `{"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "table"}, "spec": {"region": "us-central1",
	  "zone": "us-central1-a", "accelerator": "nvidia-l4", "provisioning": "Spot", "gpusPerNode": 2, "maxNodes": 4}}`
	const status = `{"status": {"observedGeneration": 1, "readyNodes": 3, "gpus": {"allocatable": 6, "used": 4, "free": 2},
	  "pricePerGpuHour": "0.71", "priceSource": "ListPrice"}}`
	if _, err := cluster.KubectlWithInput(testContext(t), pool, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kubectl(t, "delete", "gpupool", "table") })
	kubectl(t, "patch", "gpupool", "table", "--type=merge", "-p", status)
	if kept := kubectl(t, "get", "gpupool", "table", "-o", "jsonpath={.status}"); kept != "" {
		t.Errorf("a write of the spec made the status %s", kept)
	}
	kubectl(t, "patch", "gpupool", "table", "--subresource=status", "--type=merge", "-p", status)
	lines := strings.Split(kubectl(t, "get", "gpupools", "table"), "\n")
	header, row := strings.Join(strings.Fields(lines[0]), " "), strings.Fields(lines[1])
	if header != "NAME ZONE ACCELERATOR PROVISIONING NODES USED GPUS $/GPU/H AGE" {
		t.Errorf("the columns are %q", header)
	}
	if got := strings.Join(row[:len(row)-1], " "); got != "table us-central1-a nvidia-l4 Spot 3 4 6 0.71" {
		t.Errorf("kubectl get gpupools shows %q", got)
	}
	if free := kubectl(t, "get", "gpupool", "table", "-o", "jsonpath={.status.gpus.free} {.status.priceSource}"); free != "2 ListPrice" {
		t.Errorf("the status lost a field: %q", free)
	}
}
