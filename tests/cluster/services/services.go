// Package services stands in for kube-proxy: it listens on the cluster IPs of services, which are loopback addresses
// too, and forwards connections to ready pods. TCP only.
package services

import (
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// forwarder looks at pods itself: the API server does not accept EndpointSlices with loopback addresses.
type forwarder struct {
	pods      corelisters.PodLister
	services  corelisters.ServiceLister
	listeners map[servicePort]net.Listener
	report    func(error)
}

// servicePort is the address of one listener and the service that it belongs to.
type servicePort struct {
	namespace, name, clusterIP string
	port                       int32
}

// Forward runs until ctx ends. It calls report for each listener that cannot be opened.
func Forward(ctx context.Context, client kubernetes.Interface, report func(error)) {
	factory := informers.NewSharedInformerFactory(client, 0)
	f := &forwarder{pods: factory.Core().V1().Pods().Lister(), services: factory.Core().V1().Services().Lister(),
		listeners: map[servicePort]net.Listener{}, report: report}
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default: // one is waiting
		}
	}
	_, err := factory.Core().V1().Services().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { note() }, UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() }})
	if err != nil {
		report(err)
		return
	}
	factory.Core().V1().Pods().Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for {
		select {
		case <-ctx.Done():
			f.closeAllBut(nil)
			return
		case <-changed:
			f.listen()
		}
	}
}

// listen opens and closes listeners so that there is one for each port of each service.
func (f *forwarder) listen() {
	wanted := f.wanted()
	f.closeAllBut(wanted)
	for port := range wanted {
		if _, known := f.listeners[port]; known {
			continue
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(port.clusterIP, strconv.Itoa(int(port.port))))
		if err != nil {
			f.report(fmt.Errorf("service %s/%s cannot be reached: %w", port.namespace, port.name, err))
			continue
		}
		f.listeners[port] = listener
		go f.accept(listener, port)
	}
}

func (f *forwarder) wanted() map[servicePort]bool {
	wanted := map[servicePort]bool{}
	services, _ := f.services.List(labels.Everything()) // a look into memory, which does not fail
	for _, service := range services {
		if net.ParseIP(service.Spec.ClusterIP) == nil || len(service.Spec.Selector) == 0 {
			continue
		}
		for _, port := range service.Spec.Ports {
			if port.Protocol == corev1.ProtocolTCP {
				wanted[servicePort{service.Namespace, service.Name, service.Spec.ClusterIP, port.Port}] = true
			}
		}
	}
	return wanted
}

func (f *forwarder) closeAllBut(wanted map[servicePort]bool) {
	for port, listener := range f.listeners {
		if !wanted[port] {
			listener.Close()
			delete(f.listeners, port)
		}
	}
}
