package services

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func pod(ip string, ready corev1.ConditionStatus) *corev1.Pod {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}}}
	p.Status.PodIP = ip
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return p
}

func service(target intstr.IntOrString) *corev1.Service {
	s := &corev1.Service{}
	s.Spec.Ports = []corev1.ServicePort{{Port: 80, TargetPort: target}, {Port: 81, TargetPort: intstr.FromInt32(9090)}}
	return s
}

func TestTheEndpointsOfAPortAreThoseOfReadyPods(t *testing.T) {
	leaving := pod("127.1.1.4", corev1.ConditionTrue)
	leaving.DeletionTimestamp = &metav1.Time{}
	pods := []*corev1.Pod{pod("127.1.1.2", corev1.ConditionTrue), pod("127.1.1.3", corev1.ConditionFalse), leaving}
	for _, target := range []intstr.IntOrString{intstr.FromString("web"), intstr.FromInt32(8080)} {
		if got, want := endpoints(service(target), 80, pods), []string{"127.1.1.2:8080"}; !reflect.DeepEqual(got, want) {
			t.Errorf("target %v: got %v, want %v", target, got, want)
		}
	}
}

func TestAServiceMayPublishPodsThatAreNotReady(t *testing.T) {
	s := service(intstr.FromInt32(8080))
	s.Spec.PublishNotReadyAddresses = true
	if got := endpoints(s, 81, []*corev1.Pod{pod("127.1.1.3", corev1.ConditionFalse)}); !reflect.DeepEqual(got, []string{"127.1.1.3:9090"}) {
		t.Errorf("got %v", got)
	}
}

func TestAPortThatNoContainerNamesHasNoEndpoints(t *testing.T) {
	if got := endpoints(service(intstr.FromString("metrics")), 80, []*corev1.Pod{pod("127.1.1.2", corev1.ConditionTrue)}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
