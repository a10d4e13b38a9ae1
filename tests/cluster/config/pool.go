package config

import (
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Names that GKE gives to the properties of its nodes.
const (
	LabelNodePool         = "cloud.google.com/gke-nodepool"
	LabelSpot             = "cloud.google.com/gke-spot"
	LabelAccelerator      = "cloud.google.com/gke-accelerator"
	LabelAcceleratorCount = "cloud.google.com/gke-accelerator-count"
	TaintTermination      = "cloud.google.com/impending-node-termination"

	GPU = corev1.ResourceName("nvidia.com/gpu") // resource, and key of the taint on nodes that have it
)

// What all nodes have.
const (
	MaxPods = 110              // a kubelet's default
	Disk    = int64(100 << 30) // bytes
)

// NodePool is a group of equal nodes, with the labels and taints that GKE would give them.
type NodePool struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	// MaxCount lets the autoscaler change the number of nodes between Count and this one. A pool without it has a fixed size.
	MaxCount    int               `json:"maxCount,omitempty"`
	MachineType string            `json:"machineType,omitempty"`
	Region      string            `json:"region,omitempty"`
	Zone        string            `json:"zone,omitempty"`
	CPU         int               `json:"cpu,omitempty"`
	Memory      string            `json:"memory,omitempty"`
	Accelerator string            `json:"accelerator,omitempty"`
	GPUs        int               `json:"gpus,omitempty"`
	Spot        bool              `json:"spot,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Taints      []corev1.Taint    `json:"taints,omitempty"`
	// ShutdownGracePeriod is what a kubelet that is told to shut down leaves its pods, such as "15s".
	ShutdownGracePeriod string `json:"shutdownGracePeriod,omitempty"`
	// SyncFrequency is how often a kubelet compares the files of a mounted Secret with the Secret, such as "1m", a kubelet's default.
	SyncFrequency string `json:"syncFrequency,omitempty"`
}

func (p *NodePool) complete() {
	fill := func(value *string, fallback string) {
		if *value == "" {
			*value = fallback
		}
	}
	fill(&p.Region, "us-central1")
	fill(&p.Zone, p.Region+"-a")
	fill(&p.MachineType, "e2-standard-4")
	fill(&p.Memory, "16Gi")
	fill(&p.ShutdownGracePeriod, "15s")
	fill(&p.SyncFrequency, "1m")
	if p.CPU == 0 {
		p.CPU = 4
	}
}

// Autoscales tells whether the pool may change its size by itself.
func (p NodePool) Autoscales() bool { return p.MaxCount != 0 }

// GracePeriod is ShutdownGracePeriod, which has been checked when the file was read.
func (p NodePool) GracePeriod() time.Duration {
	grace, _ := time.ParseDuration(p.ShutdownGracePeriod)
	return grace
}

// TimeBetweenSyncs is SyncFrequency, which has been checked when the file was read.
func (p NodePool) TimeBetweenSyncs() time.Duration {
	time, _ := time.ParseDuration(p.SyncFrequency)
	return time
}

// NodeLabels are what a kubelet of this pool registers with.
func (p NodePool) NodeLabels() map[string]string {
	labels := map[string]string{
		LabelNodePool:                  p.Name,
		corev1.LabelInstanceTypeStable: p.MachineType,
		corev1.LabelTopologyRegion:     p.Region,
		corev1.LabelTopologyZone:       p.Zone,
	}
	if p.Spot {
		labels[LabelSpot] = "true"
	}
	if p.GPUs > 0 {
		labels[LabelAccelerator] = p.Accelerator
		labels[LabelAcceleratorCount] = strconv.Itoa(p.GPUs)
	}
	maps.Copy(labels, p.Labels)
	return labels
}

// NodeTaints are what a kubelet of this pool registers with.
func (p NodePool) NodeTaints() []corev1.Taint {
	var taints []corev1.Taint
	if p.GPUs > 0 {
		taints = append(taints, corev1.Taint{Key: string(GPU), Value: "present", Effect: corev1.TaintEffectNoSchedule})
	}
	if p.Spot {
		taints = append(taints, corev1.Taint{Key: LabelSpot, Value: "true", Effect: corev1.TaintEffectNoSchedule})
	}
	return append(taints, p.Taints...)
}

// Capacity is what a kubelet of this pool reports. All of it is for pods.
func (p NodePool) Capacity() corev1.ResourceList {
	memory, _ := resource.ParseQuantity(p.Memory) // has been checked when the file was read
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(p.CPU), resource.DecimalSI),
		corev1.ResourceMemory:           memory,
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(Disk, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(MaxPods, resource.DecimalSI),
	}
	if p.GPUs > 0 {
		capacity[GPU] = *resource.NewQuantity(int64(p.GPUs), resource.DecimalSI)
	}
	return capacity
}
