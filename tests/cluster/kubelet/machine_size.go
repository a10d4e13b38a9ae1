package kubelet

import (
	"context"
	"strconv"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisorapiv2 "github.com/google/cadvisor/info/v2"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/resource"
	cadvisortesting "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"

	"sailor.dev/tests/cluster/config"
	"sailor.dev/tests/cluster/node"
)

// machineSize answers for cadvisor what the pool says.
type machineSize struct {
	cadvisortesting.Fake
	spec node.Spec
}

func (m *machineSize) MachineInfo() (*cadvisorapi.MachineInfo, error) {
	memory, err := resource.ParseQuantity(m.spec.Pool.Memory)
	return &cadvisorapi.MachineInfo{NumCores: m.spec.Pool.CPU, MemoryCapacity: uint64(memory.Value()),
		MachineID: m.spec.Name, SystemUUID: m.spec.Name, BootID: strconv.FormatInt(time.Now().UnixNano(), 36)}, err
}

func (m *machineSize) VersionInfo() (*cadvisorapi.VersionInfo, error) {
	var u unix.Utsname
	err := unix.Uname(&u)
	return &cadvisorapi.VersionInfo{KernelVersion: unix.ByteSliceToString(u.Release[:]), ContainerOsVersion: "none (processes)"}, err
}

// ContainerInfoV2 says for the eviction manager that the machine is idle.
func (m *machineSize) ContainerInfoV2(name string, _ cadvisorapiv2.RequestOptions) (map[string]cadvisorapiv2.ContainerInfo, error) {
	idle := &cadvisorapiv2.ContainerStats{Timestamp: time.Now(), Cpu: &cadvisorapi.CpuStats{}, Memory: &cadvisorapi.MemoryStats{}}
	return map[string]cadvisorapiv2.ContainerInfo{name: {
		Spec:  cadvisorapiv2.ContainerSpec{HasCpu: true, HasMemory: true},
		Stats: []*cadvisorapiv2.ContainerStats{idle},
	}}, nil
}

func (m *machineSize) RootFsInfo() (cadvisorapiv2.FsInfo, error) { return m.GetDirFsInfo(m.spec.Dir) }

func (m *machineSize) ImagesFsInfo(context.Context) (cadvisorapiv2.FsInfo, error) {
	return m.GetDirFsInfo(m.spec.Dir)
}

func (m *machineSize) GetDirFsInfo(string) (cadvisorapiv2.FsInfo, error) {
	inodes, size := uint64(1<<20), uint64(config.Disk)
	return cadvisorapiv2.FsInfo{Timestamp: time.Now(), Capacity: size, Available: size, Inodes: &inodes, InodesFree: &inodes}, nil
}
