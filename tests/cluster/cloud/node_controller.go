package cloud

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"
)

// nodeController gives Nodes their addresses, which a kubelet does not do for a loopback one, and takes off the taint
// with which nodes wait for that.
type nodeController struct {
	client  kubernetes.Interface
	lister  corelisters.NodeLister
	address func(node string) (string, bool)
	changed chan struct{} // holds a value when some Node has changed since the last look
}

func startNodeController(ctx context.Context, client kubernetes.Interface, address func(string) (string, bool)) (*nodeController, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	n := &nodeController{client: client, lister: factory.Core().V1().Nodes().Lister(), address: address, changed: make(chan struct{}, 1)}
	handle := func(object any) {
		n.initialize(ctx, object.(*corev1.Node))
		select {
		case n.changed <- struct{}{}:
		default: // one is waiting
		}
	}
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: handle, UpdateFunc: func(_, object any) { handle(object) }})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return n, nil
}

// initialize is repeated with the next change of the Node if it fails.
func (n *nodeController) initialize(ctx context.Context, node *corev1.Node) {
	address, ours := n.address(node.Name)
	if !ours || !hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) {
		return
	}
	node = node.DeepCopy()
	node.Status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: node.Name}}
	node, err := n.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	if err == nil {
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == cloudproviderapi.TaintExternalCloudProvider
		})
		_, err = n.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	}
	if err != nil && !apierrors.IsConflict(err) { // a conflict means that there will be another change
		klog.ErrorS(err, "initializing a node", "node", address)
	}
}

// addTaint leaves a taint of the same key as it is.
func (n *nodeController) addTaint(ctx context.Context, name string, taint corev1.Taint) error {
	return n.changeTaints(ctx, name, func(taints []corev1.Taint) []corev1.Taint {
		if slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.Key == taint.Key }) {
			return taints
		}
		return append(taints, taint)
	})
}

func (n *nodeController) removeTaint(ctx context.Context, name, key string) error {
	return n.changeTaints(ctx, name, func(taints []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.Key == key })
	})
}

// changeTaints does not patch, because the list of taints is replaced as a whole.
func (n *nodeController) changeTaints(ctx context.Context, name string, change func([]corev1.Taint) []corev1.Taint) error {
	nodes := n.client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		before := len(node.Spec.Taints)
		if node.Spec.Taints = change(node.Spec.Taints); len(node.Spec.Taints) == before {
			return nil
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing the taints of node %s: %w", name, err)
	}
	return nil
}

// awaitReady returns when the nodes accept pods.
func (n *nodeController) awaitReady(ctx context.Context, names []string) error {
	for {
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			node, err := n.lister.Get(name)
			return err == nil && isReady(node)
		})
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-n.changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the nodes %v to be ready: %w", missing, context.Cause(ctx))
		}
	}
}

// ready lists the nodes that accept pods.
func (n *nodeController) ready() []*corev1.Node {
	nodes, _ := n.lister.List(labels.Everything()) // a look into memory, which does not fail
	return slices.DeleteFunc(nodes, func(node *corev1.Node) bool { return !isReady(node) })
}

func isReady(node *corev1.Node) bool {
	if hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) || hasTaint(node, corev1.TaintNodeNotReady) {
		return false
	}
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}
