package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// kubelet plays the kubelets of all nodes of the fleet, for the pods of jobs. It writes one status of a pod that starts and one of a pod
// that has ended; a real one writes a few more.
type kubelet struct {
	client *kubernetes.Clientset
	agents *Agents
	pods   cache.SharedIndexInformer
	work   workqueue.TypedRateLimitingInterface[string]
}

// startKubelet returns when it knows all pods. It ends with ctx.
func startKubelet(ctx context.Context, client *kubernetes.Clientset, agents *Agents) (*kubelet, error) {
	ours := func(selector string) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = selector }))
	}
	pods, secrets := ours(jobLabel), ours(jobLabel)
	k := &kubelet{client: client, agents: agents, pods: pods.Core().V1().Pods().Informer(),
		work: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](10*time.Millisecond, time.Second))}
	agents.ended = k.finish
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			k.work.Add(key)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }, DeleteFunc: add}
	mount := func(object any) { agents.mount(object.(*corev1.Secret)) }
	_, podsErr := k.pods.AddEventHandler(handler)
	_, secretsErr := secrets.Core().V1().Secrets().Informer().AddEventHandler(
		cache.ResourceEventHandlerFuncs{AddFunc: mount, UpdateFunc: func(_, object any) { mount(object) }})
	if err := errors.Join(podsErr, secretsErr); err != nil {
		return nil, err
	}
	for _, factory := range []informers.SharedInformerFactory{pods, secrets} {
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
	}
	for range clientsAtOnce {
		go k.run(ctx)
	}
	go func() {
		<-ctx.Done()
		k.work.ShutDown()
	}()
	return k, nil
}

func (k *kubelet) run(ctx context.Context) {
	for {
		key, shutdown := k.work.Get()
		if shutdown {
			return
		}
		err := k.sync(ctx, key)
		k.work.Done(key)
		if err == nil {
			k.work.Forget(key)
			continue
		}
		if ctx.Err() == nil && !errors.Is(err, errNotMounted) {
			fmt.Fprintln(os.Stderr, "simulated kubelet:", err)
		}
		k.work.AddRateLimited(key)
	}
}

// sync makes the pod's agent and its status what they should be.
func (k *kubelet) sync(ctx context.Context, key string) error {
	object, exists, err := k.pods.GetIndexer().GetByKey(key)
	if err != nil || !exists {
		k.agents.remove(key)
		return err
	}
	pod := object.(*corev1.Pod)
	if pod.Spec.NodeName == "" {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		k.agents.remove(key)
		now := int64(0)
		err := k.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	}
	if pod.Status.PodIP != "" {
		return nil
	}
	host, err := k.agents.start(pod)
	if err != nil {
		return err
	}
	return k.report(ctx, pod.Namespace, pod.Name, running(host))
}

// finish writes that the pod has come to its end, with the last report of its agent.
func (k *kubelet) finish(namespace, pod, report string) {
	k.agents.remove(namespace + "/" + pod)
	if err := k.report(context.Background(), namespace, pod, succeeded(report)); err != nil && !apierrors.IsNotFound(err) {
		fmt.Fprintln(os.Stderr, "simulated kubelet:", err)
	}
}

func (k *kubelet) report(ctx context.Context, namespace, pod string, status corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(namespace).Patch(ctx, pod, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func running(host string) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: host, PodIPs: []corev1.PodIP{{IP: host}}, StartTime: &now,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "trainer", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}}
	for _, condition := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return status
}

func succeeded(report string) corev1.PodStatus {
	now := metav1.Now()
	return corev1.PodStatus{Phase: corev1.PodSucceeded,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: now}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "trainer", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: report, Reason: "Completed", FinishedAt: now}}}}}
}

// nodeOf returns the node of one of the job's pods, which is not about to go; empty: it has none.
func (k *kubelet) nodeOf(job string) string {
	for _, object := range k.pods.GetStore().List() {
		pod := object.(*corev1.Pod)
		if pod.Namespace == Namespace && pod.Labels[jobLabel] == job && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			return pod.Spec.NodeName
		}
	}
	return ""
}
