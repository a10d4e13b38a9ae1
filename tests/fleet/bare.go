package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/trainingjob"
)

const bareNamespace = "bare"

// kinds are what the operator makes for a job, in the order in which it does.
var kinds = []schema.GroupVersionResource{
	{Group: "sailor.dev", Version: "v1alpha1", Resource: "jobrecords"},
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "secrets"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Version: "v1", Resource: "pods"},
}

// Template is a job with all objects that the operator has made for it.
type Template struct {
	job     *unstructured.Unstructured
	objects map[schema.GroupVersionResource][]unstructured.Unstructured
	nodes   []string // of its pods
}

// Objects is the number of objects that a client creates for a job.
func (t *Template) Objects() (count int) {
	for _, objects := range t.objects {
		count += len(objects)
	}
	return count + 1
}

const templateName = "template"

// Template has the operator run a job, reads what it has made for it, and deletes the job.
func (f *Fleet) Template(ctx context.Context) (*Template, error) {
	job := Training(templateName, trainingjob.Endless)
	job.Resources = fmt.Sprintf("{accelerators: [%s], minGpus: %d, maxGpus: %[2]d}", accelerator, PodsOfJob) // the operator may not know all nodes yet
	if err := f.Create(ctx, 0, 1, func(int) trainingjob.Small { return job }); err != nil {
		return nil, err
	}
	if err := f.Jobs.UntilState(ctx, "Running", 1); err != nil {
		return nil, err
	}
	template, err := f.templateOf(ctx, templateName)
	if err != nil {
		return nil, err
	}
	return template, f.removeJobs(ctx, Namespace)
}

func (f *Fleet) untilNoPods(ctx context.Context, namespace string) error {
	return testcluster.Await(ctx, "the pods in namespace "+namespace+" to go", func(ctx context.Context) (bool, error) {
		pods, err := f.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil && len(pods.Items) == 0, err
	})
}

func (f *Fleet) templateOf(ctx context.Context, job string) (*Template, error) {
	found, err := f.objects.Resource(trainingjob.Resource).Namespace(Namespace).Get(ctx, job, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	template := &Template{job: found, objects: map[schema.GroupVersionResource][]unstructured.Unstructured{}}
	for _, kind := range kinds {
		list, err := f.objects.Resource(kind).Namespace(Namespace).List(ctx, metav1.ListOptions{LabelSelector: jobLabel + "=" + job})
		if err != nil {
			return nil, err
		}
		if len(list.Items) == 0 {
			return nil, fmt.Errorf("the operator has made no %s for job %s", kind.Resource, job)
		}
		template.objects[kind] = list.Items
		for _, object := range list.Items {
			if node, ok, _ := unstructured.NestedString(object.Object, "spec", "nodeName"); ok && kind.Resource == "pods" {
				template.nodes = append(template.nodes, node)
			}
		}
	}
	return template, nil
}

// copyOf returns an object as it was created, for another job in another namespace and on other nodes.
func (t *Template) copyOf(object unstructured.Unstructured, names *strings.Replacer, owner *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	made := object.DeepCopy()
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(made.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(made.Object, "status")
	unstructured.RemoveNestedField(made.Object, "spec", "nodeName")
	text, err := json.Marshal(made.Object)
	if err != nil {
		return nil, err
	}
	made = &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(names.Replace(string(text))), &made.Object); err != nil {
		return nil, err
	}
	made.SetNamespace(bareNamespace)
	if owner != nil {
		controls := true
		made.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(),
			UID: owner.GetUID(), Controller: &controls, BlockOwnerDeletion: &controls}})
	}
	return made, nil
}

// Bare creates the objects of as many jobs as a client without an operator would, several jobs at a time, and waits until all pods run. It
// takes away what it has made.
func (f *Fleet) Bare(ctx context.Context, template *Template, jobs int) (time.Duration, error) {
	settings := rest.CopyConfig(f.Cluster.REST) // as the operator, because nobody else may write a JobRecord
	settings.Impersonate.UserName = "system:serviceaccount:sailor-system:sailor"
	settings.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	operator, err := dynamic.NewForConfig(settings)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = eachOf(jobs, clientsAtOnce, func(i int) error { return f.bareJob(ctx, operator, template, i) })
	if err != nil {
		return 0, err
	}
	pods := jobs * len(template.nodes)
	err = testcluster.Await(ctx, "the pods of the bare client to run", func(context.Context) (bool, error) {
		return f.kubelet.running(bareNamespace) >= pods, nil
	})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	return took, f.removeJobs(ctx, bareNamespace)
}

func (f *Fleet) bareJob(ctx context.Context, operator dynamic.Interface, template *Template, i int) error {
	name := fmt.Sprintf("bare-%d", i)
	names := []string{template.job.GetName(), name}
	for at, node := range template.nodes {
		names = append(names, `"`+node+`"`, `"`+NodeName(i*len(template.nodes)+at)+`"`)
	}
	replacer := strings.NewReplacer(names...)
	job, err := template.copyOf(*template.job, replacer, nil)
	if err != nil {
		return err
	}
	if job, err = f.objects.Resource(trainingjob.Resource).Namespace(bareNamespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, kind := range kinds {
		for _, object := range template.objects[kind] {
			made, err := template.copyOf(object, replacer, job)
			if err != nil {
				return err
			}
			if _, err := operator.Resource(kind).Namespace(bareNamespace).Create(ctx, made, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeJobs deletes all jobs of a namespace and what belongs to them. The garbage collector would learn of these kinds only after half a minute.
func (f *Fleet) removeJobs(ctx context.Context, namespace string) error {
	now := int64(0)
	for _, kind := range append([]schema.GroupVersionResource{trainingjob.Resource}, kinds...) {
		err := f.objects.Resource(kind).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now},
			metav1.ListOptions{LabelSelector: labelsOf(kind)})
		if err != nil {
			return err
		}
	}
	return f.untilNoPods(ctx, namespace)
}

// labelsOf selects what belongs to jobs: a TrainingJob has no label.
func labelsOf(kind schema.GroupVersionResource) string {
	if kind == trainingjob.Resource {
		return ""
	}
	return jobLabel
}

// running counts the pods of a namespace that the kubelet has started.
func (k *kubelet) running(namespace string) (count int) {
	for _, object := range k.pods.GetStore().List() {
		if pod := object.(*corev1.Pod); pod.Namespace == namespace && pod.Status.Phase == corev1.PodRunning {
			count++
		}
	}
	return count
}
