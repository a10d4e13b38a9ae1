package kueue

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/testcluster"
)

const job = `apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: any, command: [sleep, "600"], resources: {limits: {nvidia.com/gpu: 1}}}]
`

func runsAJobOnceItsQuotaIsThere(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 0})
	if _, err := cluster.KubectlWithInput(k.briefly(), job, "-n", team, "create", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	var name string
	testcluster.Eventually(t, patience, "Kueue to make a Workload for the Job", func(ctx context.Context) (bool, error) {
		all, err := k.Workloads(ctx, team)
		if len(all) == 1 {
			name = all[0].Name
		}
		return len(all) == 1, err
	})
	k.untilRefused(name, "insufficient quota")
	if pods := podsOfTeam(t); len(pods) > 0 {
		t.Fatalf("a pod runs without quota: %s", pods[0].Name)
	}

	k.ClusterQueue("gpus", Quota{Flavor: "l4", GPUs: 1})
	k.untilAdmitted(name)
	testcluster.Eventually(t, patience, "the Job's pod to run", func(context.Context) (bool, error) {
		pods := podsOfTeam(t)
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning, nil
	})
	if selector := podsOfTeam(t)[0].Spec.NodeSelector; selector[config.LabelAccelerator] != accelerator {
		t.Errorf("the pod selects nodes by %v, without the label of the flavor", selector)
	}
}

func podsOfTeam(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := cluster.Kubernetes.CoreV1().Pods(team).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func admitsAsManyPodsAsAFlavorHasQuotaFor(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "t4", GPUs: 8}, Quota{Flavor: "l4", GPUs: 3})
	k.create(request{name: "partial", gpus: 4, minimum: 2, onNodes: accelerator})
	admission := k.untilAdmitted("partial").Status.Admission
	if len(admission.PodSetAssignments) != 1 {
		t.Fatalf("it was admitted with %+v", admission)
	}
	assigned := admission.PodSetAssignments[0]
	if assigned.Name != "gpus" || assigned.Count != 3 || assigned.Flavors[string(config.GPU)] != "l4" {
		t.Errorf("it was admitted with %+v", assigned)
	}
	k.create(request{name: "too-large", gpus: 4, onNodes: accelerator})
	k.untilRefused("too-large", "insufficient")
}

// Kueue's own webhook refuses this; the definition of Workload allows it.
func checksWorkloads(t *testing.T, shared *Kueue) {
	shared.in(t, Quota{Flavor: "l4", GPUs: 4})
	pods := request{name: "twice", gpus: 4, minimum: 2}.manifest("")
	set := pods[strings.Index(pods, "  - name: gpus"):]
	_, err := cluster.KubectlWithInput(t.Context(), pods+strings.Replace(set, "name: gpus", "name: more", 1), "create", "-f", "-")
	if err == nil || !strings.Contains(err.Error(), "at most one podSet can use minCount") {
		t.Errorf("a Workload with two sets of a variable size: %v", err)
	}
}

// docs/queues.md shows how to make a queue.
func acceptsTheQueuesOfTheGuide(t *testing.T, shared *Kueue) {
	k := shared.in(t, Quota{Flavor: "l4", GPUs: 1})
	root, err := testcluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "queues.md"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if manifest == nil || !strings.Contains(string(manifest[1]), "kind: ClusterQueue") {
		t.Fatalf("the page begins with other YAML than that of a queue: %s", manifest)
	}
	queues := regexp.MustCompile("(?m)^   ").ReplaceAllString(string(manifest[1]), "") // it is in a list
	if _, err := cluster.KubectlWithInput(t.Context(), queues, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	testcluster.Eventually(t, patience, "the queue to be active", func(ctx context.Context) (bool, error) {
		state, err := k.cluster.Kubectl(ctx, "get", "clusterqueue", "research", "-o", `jsonpath={.status.conditions[?(@.type=="Active")].status}`)
		return state == "True", err
	})
}
