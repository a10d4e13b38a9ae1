package kueue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sailor.dev/tests/cluster/config"
)

// Quota is how many GPUs of a flavor the Workloads of a ClusterQueue may use at a time.
type Quota struct {
	Flavor string
	GPUs   int
}

// ResourceFlavor stands for the nodes with these labels.
func (k *Kueue) ResourceFlavor(name string, nodeLabels map[string]string) {
	k.t.Helper()
	labels, err := json.Marshal(nodeLabels)
	if err != nil {
		k.t.Fatal(err)
	}
	k.apply("kind: ResourceFlavor\nmetadata: {name: %s}\nspec: {nodeLabels: %s}", name, labels)
}

// ClusterQueue makes a queue, or changes the quotas of one. Its Workloads get the first flavor that fits them. One of them is preempted
// by a Workload of higher priority, and by Workloads of other queues in its cohort that need the GPUs which it has borrowed.
func (k *Kueue) ClusterQueue(name string, quotas ...Quota) {
	k.t.Helper()
	var flavors strings.Builder
	for _, quota := range quotas {
		fmt.Fprintf(&flavors, "\n    - {name: %s, resources: [{name: %s, nominalQuota: %d}]}", quota.Flavor, config.GPU, quota.GPUs)
	}
	k.apply(`kind: ClusterQueue
metadata: {name: %s}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}
  resourceGroups:
  - coveredResources: [%s]
    flavors:%s`, name, config.GPU, flavors.String())
}

// LocalQueue is the queue that the Workloads of a namespace name. It passes them on to a ClusterQueue.
func (k *Kueue) LocalQueue(namespace, name, clusterQueue string) {
	k.t.Helper()
	k.apply("kind: LocalQueue\nmetadata: {namespace: %s, name: %s}\nspec: {clusterQueue: %s}", namespace, name, clusterQueue)
}

// PriorityClass gives a name to a priority of Workloads.
func (k *Kueue) PriorityClass(name string, priority int) {
	k.t.Helper()
	k.apply("kind: WorkloadPriorityClass\nmetadata: {name: %s}\nvalue: %d", name, priority)
}

// JoinCohort lets a ClusterQueue and the others of its cohort use what one of them has left.
func (k *Kueue) JoinCohort(clusterQueue, cohort string) {
	k.t.Helper()
	k.patchQueue(clusterQueue, fmt.Sprintf(`{"spec": {"cohort": %q}}`, cohort))
}

// StopClusterQueue evicts the Workloads of a queue and admits no others.
func (k *Kueue) StopClusterQueue(name string) {
	k.t.Helper()
	k.patchQueue(name, `{"spec": {"stopPolicy": "HoldAndDrain"}}`)
}

// ResumeClusterQueue ends StopClusterQueue.
func (k *Kueue) ResumeClusterQueue(name string) {
	k.t.Helper()
	k.patchQueue(name, `{"spec": {"stopPolicy": "None"}}`)
}

func (k *Kueue) apply(format string, args ...any) {
	k.t.Helper()
	manifest := "apiVersion: " + flavors.GroupVersion().String() + "\n" + fmt.Sprintf(format, args...)
	if _, err := k.cluster.KubectlWithInput(k.briefly(), manifest, "apply", "-f", "-"); err != nil {
		k.t.Fatalf("%v\n%s", err, manifest)
	}
}

func (k *Kueue) patchQueue(name, patch string) {
	k.t.Helper()
	_, err := k.client.Resource(resource("clusterqueues")).Patch(k.briefly(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		k.t.Fatalf("%v\n%s", err, patch)
	}
}

// briefly is for one request.
func (k *Kueue) briefly() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	k.t.Cleanup(cancel)
	return ctx
}
