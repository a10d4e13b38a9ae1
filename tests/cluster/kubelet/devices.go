package kubelet

import (
	"context"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	internalapi "k8s.io/cri-api/pkg/apis"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/config"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/status"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/gpus"
)

// devices is a ContainerManager without cgroups, which hands out numbered GPUs.
type devices struct {
	cm.ContainerManager
	activePods cm.ActivePodsFunc

	mu   sync.Mutex
	gpus *gpus.Allocator
}

func newDevices(count int) *devices {
	return &devices{ContainerManager: cm.NewStubContainerManager(), gpus: gpus.NewAllocator(count)}
}

func (d *devices) Start(ctx context.Context, node *corev1.Node, activePods cm.ActivePodsFunc, getNode cm.GetNodeFunc,
	sources kubeletconfig.SourcesReady, statuses status.PodStatusProvider, runtime internalapi.RuntimeService, localStorage bool) error {
	d.activePods = activePods
	return d.ContainerManager.Start(ctx, node, activePods, getNode, sources, statuses, runtime, localStorage)
}

func (d *devices) GetCapacity(bool) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceEphemeralStorage: *resource.NewQuantity(config.Disk, resource.BinarySI)}
}

func (d *devices) GetDevicePluginResourceCapacity() (corev1.ResourceList, corev1.ResourceList, []string) {
	if d.gpus.Count() == 0 {
		return nil, nil, nil
	}
	all := corev1.ResourceList{config.GPU: *resource.NewQuantity(int64(d.gpus.Count()), resource.DecimalSI)}
	return all, all, nil
}

func (d *devices) UpdatePluginResources(*schedulerframework.NodeInfo, *lifecycle.PodAdmitAttributes) error {
	return nil
}

// GetResources tells a container its GPUs as NVIDIA's device plugin does.
func (d *devices) GetResources(_ context.Context, pod *corev1.Pod, c *corev1.Container) (*kubecontainer.RunContainerOptions, error) {
	quantity := c.Resources.Limits[config.GPU]
	want := int(quantity.Value())
	if want == 0 {
		return &kubecontainer.RunContainerOptions{}, nil
	}
	given, err := d.give(gpus.Owner{Pod: pod.UID, Container: c.Name}, want)
	if err != nil {
		return nil, err
	}
	visible := kubecontainer.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: strings.Join(given, ",")}
	return &kubecontainer.RunContainerOptions{Envs: []kubecontainer.EnvVar{visible}}, nil
}

// give hands out GPUs after it has taken back those of pods that have ended.
func (d *devices) give(to gpus.Owner, want int) ([]string, error) {
	active := map[types.UID]bool{}
	for _, pod := range d.activePods() {
		active[pod.UID] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gpus.KeepOnly(active)
	return d.gpus.Give(to, want)
}
