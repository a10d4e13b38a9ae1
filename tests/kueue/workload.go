package kueue

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sailor.dev/tests/cluster/testcluster"
)

// Workload is a request for quota, and Kueue's answer.
type Workload struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            Status `json:"status"`
}

// Status is the part of Kueue's that tests look at.
type Status struct {
	Conditions []metav1.Condition `json:"conditions"`
	Admission  *Admission         `json:"admission"` // nil if the Workload holds no quota
}

// Admission says which GPUs a Workload may use.
type Admission struct {
	ClusterQueue      string       `json:"clusterQueue"`
	PodSetAssignments []Assignment `json:"podSetAssignments"`
}

// Assignment is what a set of equal pods may use.
type Assignment struct {
	Name    string            `json:"name"`
	Count   int               `json:"count"`
	Flavors map[string]string `json:"flavors"` // by resource
}

// Condition is the condition of a type, or one that is Unknown.
func (w Workload) Condition(kind string) metav1.Condition {
	if condition := meta.FindStatusCondition(w.Status.Conditions, kind); condition != nil {
		return *condition
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown}
}

// Is tells whether a condition holds.
func (w Workload) Is(kind string) bool { return w.Condition(kind).Status == metav1.ConditionTrue }

// Workloads are those of a namespace.
func (k *Kueue) Workloads(ctx context.Context, namespace string) ([]Workload, error) {
	list, err := k.client.Resource(workloads).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make([]Workload, len(list.Items))
	for i := range list.Items {
		if all[i], err = fromObject(&list.Items[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Workload reads one.
func (k *Kueue) Workload(ctx context.Context, namespace, name string) (Workload, error) {
	object, err := k.client.Resource(workloads).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Workload{}, err
	}
	return fromObject(object)
}

// Until waits for a state of a Workload and returns it.
func (k *Kueue) Until(namespace, name, what string, holds func(Workload) bool) (last Workload) {
	k.t.Helper()
	defer func() {
		if k.t.Failed() {
			k.t.Logf("the last state of Workload %s/%s: %+v", namespace, name, last.Status)
		}
	}()
	testcluster.Eventually(k.t, patience, "Workload "+name+" to "+what, func(ctx context.Context) (bool, error) {
		workload, err := k.Workload(ctx, namespace, name)
		if err != nil {
			return false, err
		}
		last = workload
		return holds(last), nil
	})
	return last
}

func fromObject(object *unstructured.Unstructured) (workload Workload, err error) {
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &workload)
	return workload, err
}
