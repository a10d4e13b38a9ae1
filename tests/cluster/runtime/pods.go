package runtime

import (
	"context"
	"os"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sandbox is a pod: an address and some containers.
type sandbox struct {
	runtimeapi.PodSandbox
	config *runtimeapi.PodSandboxConfig
	host   int // the last number of its address
}

func (r *processRuntime) RunPodSandbox(_ context.Context, request *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	c := request.Config
	if err := os.MkdirAll(c.LogDirectory, 0o755); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	host, err := r.addresses.Take()
	if err != nil {
		return nil, err
	}
	s := &sandbox{config: c, host: host, PodSandbox: runtimeapi.PodSandbox{Id: newID(), Metadata: c.Metadata, Labels: c.Labels,
		Annotations: c.Annotations, State: runtimeapi.PodSandboxState_SANDBOX_READY, CreatedAt: time.Now().UnixNano()}}
	r.sandboxes[s.Id] = s
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: s.Id}, nil
}

func (r *processRuntime) StopPodSandbox(_ context.Context, request *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	r.stopContainersOf(request.PodSandboxId)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[request.PodSandboxId]; s != nil {
		s.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (r *processRuntime) RemovePodSandbox(_ context.Context, request *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	r.stopContainersOf(request.PodSandboxId)
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, c := range r.containers {
		if c.sandbox.Id == request.PodSandboxId {
			delete(r.containers, id)
		}
	}
	if s := r.sandboxes[request.PodSandboxId]; s != nil {
		r.addresses.Release(s.host)
		delete(r.sandboxes, s.Id)
	}
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

func (r *processRuntime) stopContainersOf(sandboxID string) {
	for _, c := range r.containersOf(sandboxID) {
		r.stop(c, 0)
	}
}

func (r *processRuntime) containersOf(sandboxID string) (found []*container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containers {
		if c.sandbox.Id == sandboxID {
			found = append(found, c)
		}
	}
	return found
}

func (r *processRuntime) PodSandboxStatus(_ context.Context, request *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.sandbox(request.PodSandboxId)
	if err != nil {
		return nil, err
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt, Labels: s.Labels, Annotations: s.Annotations,
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: r.spec.PodIP(s.host)},
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}},
	}}, nil
}

func (r *processRuntime) ListPodSandbox(_ context.Context, request *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	response, f := &runtimeapi.ListPodSandboxResponse{}, request.Filter
	for _, s := range r.sandboxes {
		if (f.GetId() == "" || f.Id == s.Id) && (f.GetState() == nil || f.State.State == s.State) && hasLabels(s.Labels, f.GetLabelSelector()) {
			response.Items = append(response.Items, &runtimeapi.PodSandbox{Id: s.Id, Metadata: s.Metadata, State: s.State,
				CreatedAt: s.CreatedAt, Labels: s.Labels, Annotations: s.Annotations})
		}
	}
	return response, nil
}
