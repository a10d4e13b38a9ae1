package runtime

import (
	"context"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"sailor.dev/tests/cluster/config"
)

// container is a container of a pod. The runtime's mutex guards its status.
type container struct {
	runtimeapi.ContainerStatus
	config  *runtimeapi.ContainerConfig
	image   config.Image
	args    []string // the command line
	sandbox *sandbox
	process *os.Process // nil until it has been started
	log     *containerLog
	exited  chan struct{} // closed when the process has ended
}

func (r *processRuntime) CreateContainer(_ context.Context, request *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.sandbox(request.PodSandboxId)
	if err != nil {
		return nil, err
	}
	wanted := request.Config
	image := config.FindImage(r.spec.Images, wanted.Image.GetUserSpecifiedImage())
	args, err := commandLine(wanted, image)
	if err != nil {
		return nil, err
	}
	c := &container{config: wanted, image: image, args: args, sandbox: s, exited: make(chan struct{}), ContainerStatus: runtimeapi.ContainerStatus{
		Id: newID(), Metadata: wanted.Metadata, Labels: wanted.Labels, Annotations: wanted.Annotations, Mounts: wanted.Mounts,
		Image: wanted.Image, ImageRef: wanted.Image.Image, ImageId: wanted.Image.Image, CreatedAt: time.Now().UnixNano(),
		State: runtimeapi.ContainerState_CONTAINER_CREATED, LogPath: filepath.Join(s.config.LogDirectory, wanted.LogPath),
	}}
	r.containers[c.Id] = c
	return &runtimeapi.CreateContainerResponse{ContainerId: c.Id}, nil
}

func (r *processRuntime) StartContainer(_ context.Context, request *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	c, err := r.container(request.ContainerId)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.StartContainerResponse{}, r.start(c)
}

func (r *processRuntime) StopContainer(_ context.Context, request *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	if c, err := r.container(request.ContainerId); err == nil {
		r.stop(c, time.Duration(request.Timeout)*time.Second)
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

func (r *processRuntime) RemoveContainer(_ context.Context, request *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	if c, err := r.container(request.ContainerId); err == nil {
		r.stop(c, 0)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.containers, request.ContainerId)
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (r *processRuntime) ListContainers(_ context.Context, request *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	response, f := &runtimeapi.ListContainersResponse{}, request.Filter
	for _, c := range r.containers {
		if (f.GetId() == "" || f.Id == c.Id) && (f.GetPodSandboxId() == "" || f.PodSandboxId == c.sandbox.Id) &&
			(f.GetState() == nil || f.State.State == c.State) && hasLabels(c.Labels, f.GetLabelSelector()) {
			response.Containers = append(response.Containers, &runtimeapi.Container{Id: c.Id, PodSandboxId: c.sandbox.Id, Metadata: c.Metadata,
				Image: c.Image, ImageRef: c.ImageRef, ImageId: c.ImageId, State: c.State, CreatedAt: c.CreatedAt, Labels: c.Labels, Annotations: c.Annotations})
		}
	}
	return response, nil
}

func (r *processRuntime) ContainerStatus(_ context.Context, request *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := r.container(request.ContainerId)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{Id: c.Id, Metadata: c.Metadata, State: c.State,
		CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt, ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
		Image: c.Image, ImageRef: c.ImageRef, ImageId: c.ImageId, Labels: c.Labels, Annotations: c.Annotations, Mounts: c.Mounts, LogPath: c.LogPath}}, nil
}

func (r *processRuntime) ReopenContainerLog(_ context.Context, request *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	c, err := r.container(request.ContainerId)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ReopenContainerLogResponse{}, c.log.reopen()
}

func (r *processRuntime) UpdateContainerResources(context.Context, *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// Statistics are not collected, because the containers have no cgroups.
func (r *processRuntime) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{}, nil
}
