package services

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func (f *forwarder) accept(listener net.Listener, port servicePort) {
	for {
		client, err := listener.Accept()
		if err != nil { // closed
			return
		}
		go func() {
			defer client.Close()
			_ = f.forward(client, port) // without a pod the connection just ends, as with kube-proxy
		}()
	}
}

// forward connects a client to a pod until either side ends.
func (f *forwarder) forward(client net.Conn, port servicePort) error {
	address, err := f.endpoint(port)
	if err != nil {
		return err
	}
	server, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
	return nil
}

// endpoint is the address of a ready pod of the service, chosen at random.
func (f *forwarder) endpoint(of servicePort) (string, error) {
	service, err := f.services.Services(of.namespace).Get(of.name)
	if err != nil {
		return "", err
	}
	pods, err := f.pods.Pods(of.namespace).List(labels.SelectorFromSet(service.Spec.Selector))
	if err != nil {
		return "", err
	}
	found := endpoints(service, of.port, pods)
	if len(found) == 0 {
		return "", fmt.Errorf("no pod is ready")
	}
	return found[rand.IntN(len(found))], nil
}

// endpoints are the addresses of the pods that serve one port of a service.
func endpoints(service *corev1.Service, number int32, pods []*corev1.Pod) (found []string) {
	for _, port := range service.Spec.Ports {
		for _, pod := range pods {
			target := targetPort(pod, port)
			if port.Port == number && target > 0 && (isReady(pod) || service.Spec.PublishNotReadyAddresses) {
				found = append(found, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(target)))
			}
		}
	}
	return found
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func targetPort(pod *corev1.Pod, port corev1.ServicePort) int {
	if port.TargetPort.StrVal == "" {
		return port.TargetPort.IntValue()
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.StrVal {
				return int(p.ContainerPort)
			}
		}
	}
	return 0
}
