package kueue

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
)

const team = "team" // the namespace and the queue of the tests' Workloads

// in returns the same Kueue for a part of a test, with a flavor for each accelerator, a ClusterQueue with these quotas, and a queue of the
// team. All that goes with the part.
func (k *Kueue) in(t *testing.T, quotas ...Quota) *Kueue {
	t.Helper()
	part := *k
	part.t = t
	t.Cleanup(part.clear)
	part.ResourceFlavor("l4", map[string]string{config.LabelAccelerator: accelerator})
	part.ResourceFlavor("t4", map[string]string{config.LabelAccelerator: "nvidia-tesla-t4"})
	part.ClusterQueue("gpus", quotas...)
	space := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + team + "}\n"
	if _, err := cluster.KubectlWithInput(t.Context(), space, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	part.LocalQueue(team, team, "gpus")
	return &part
}

func (k *Kueue) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := cluster.Kubectl(ctx, "-n", team, "delete", "jobs,pods", "--all"); err != nil {
		k.t.Error(err)
	}
	if err := k.untilNone(ctx, "the objects of the test to be gone", k.removeObjects); err != nil {
		k.t.Error(err)
	}
}

// request is a Workload of the team, as the operator makes them: it holds GPUs for pods that Kueue does not know.
type request struct {
	name      string
	priority  int
	gpus      int
	minimum   int    // left out, all GPUs are needed
	onNodes   string // with this accelerator; left out, any
	queue     string // left out, the team's
	owner     string // the name of a ConfigMap
	finalizer string
}

const resourceInUse = "kueue.x-k8s.io/resource-in-use"

func (r request) manifest(ownerUID string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Workload\nmetadata:\n  name: %s\n  namespace: %s\n", r.name, team)
	if r.owner != "" {
		fmt.Fprintf(&text, "  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: %s, uid: %s, controller: true}]\n", r.owner, ownerUID)
	}
	if r.finalizer != "" {
		fmt.Fprintf(&text, "  finalizers: [%s]\n", r.finalizer)
	}
	queue := r.queue
	if queue == "" {
		queue = team
	}
	fmt.Fprintf(&text, "spec:\n  queueName: %s\n  priority: %d\n  podSets:\n  - name: gpus\n    count: %d\n", queue, r.priority, r.gpus)
	if r.minimum > 0 {
		fmt.Fprintf(&text, "    minCount: %d\n", r.minimum)
	}
	fmt.Fprintf(&text, `    template:
      spec:
        restartPolicy: Never
        containers: [{name: worker, image: any, resources: {requests: {%[1]s: 1}, limits: {%[1]s: 1}}}]
`, config.GPU)
	if r.onNodes != "" {
		fmt.Fprintf(&text, "        affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "+
			"[{matchExpressions: [{key: %s, operator: In, values: [%s]}]}]}}}\n", config.LabelAccelerator, r.onNodes)
	}
	return text.String()
}

func (k *Kueue) create(r request) {
	k.t.Helper()
	var uid string
	if r.owner != "" {
		owner, err := cluster.Kubernetes.CoreV1().ConfigMaps(team).Create(k.briefly(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: r.owner}}, metav1.CreateOptions{})
		if err != nil {
			k.t.Fatal(err)
		}
		uid = string(owner.UID)
	}
	if _, err := cluster.KubectlWithInput(k.briefly(), r.manifest(uid), "create", "-f", "-"); err != nil {
		k.t.Fatalf("%v\n%s", err, r.manifest(uid))
	}
}

func holdsQuota(w Workload) bool {
	return w.Is("QuotaReserved") && w.Is("Admitted") && w.Status.Admission != nil
}

func (k *Kueue) untilAdmitted(name string) Workload {
	k.t.Helper()
	return k.Until(team, name, "be admitted", holdsQuota)
}

// untilEvicted waits for the reason of an eviction.
func (k *Kueue) untilEvicted(name, reason string) Workload {
	k.t.Helper()
	return k.Until(team, name, "be evicted", func(w Workload) bool { return w.Is("Evicted") && w.Condition("Evicted").Reason == reason })
}

// untilRefused waits until Kueue has looked at a Workload and left it without quota.
func (k *Kueue) untilRefused(name, because string) Workload {
	k.t.Helper()
	return k.Until(team, name, "get no quota", func(w Workload) bool {
		reserved := w.Condition("QuotaReserved")
		return reserved.Status == metav1.ConditionFalse && strings.Contains(reserved.Message, because)
	})
}
