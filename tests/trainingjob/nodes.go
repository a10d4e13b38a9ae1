package trainingjob

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Nodes are the names of the nodes of a job's pods, at least one. Pods that are being deleted do not count.
func Nodes(ctx context.Context, client kubernetes.Interface, namespace, job string) (names []string, err error) {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: podsOf(job)})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of job %s: %w", job, err)
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			names = append(names, pod.Spec.NodeName)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("job %s has no pod on a node", job)
	}
	return names, nil
}

// NodeOfPool is the name of a node of a job's pods that belongs to a node pool.
func NodeOfPool(ctx context.Context, client kubernetes.Interface, namespace, job, pool string) (string, error) {
	names, err := Nodes(ctx, client, namespace, job)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if strings.HasPrefix(name, pool+"-") {
			return name, nil
		}
	}
	return "", fmt.Errorf("job %s runs on no node of pool %s", job, pool)
}

// podsOf is the label selector of a job's pods.
func podsOf(job string) string { return "sailor.dev/job-name=" + job }
