// Package runtime is a container runtime (CRI) whose containers are processes of this machine.
package runtime

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/util/uuid"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/cri/streaming"

	"sailor.dev/tests/cluster/network"
	"sailor.dev/tests/cluster/node"
)

// processRuntime has the pods and containers of one node.
type processRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer
	spec      node.Spec
	initFile  string // the program with which containers begin
	streaming streaming.Server

	mu         sync.Mutex
	addresses  network.Ring
	sandboxes  map[string]*sandbox
	containers map[string]*container
}

// Serve starts the runtime on a Unix socket.
func Serve(spec node.Spec, socket string) error {
	_, _ = os.FindProcess(os.Getpid()) // makes os/exec test for pidfds now, not with the first process of a new PID namespace
	initFile, err := findInit()
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("serving the container runtime: %w", err)
	}
	r := &processRuntime{spec: spec, initFile: initFile, addresses: network.Ring{First: 2, Last: 254},
		sandboxes: map[string]*sandbox{}, containers: map[string]*container{}}
	config := streaming.DefaultConfig
	config.Addr = net.JoinHostPort(spec.IP(), "0")
	if r.streaming, err = streaming.NewServer(config, streams{r}); err != nil {
		return err
	}
	go func() { _ = r.streaming.Start(true) }() // runs as long as this process lives, like the next server
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, r)
	runtimeapi.RegisterImageServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	return nil
}

func (r *processRuntime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "process", RuntimeVersion: "0.1.0", RuntimeApiVersion: "v1"}, nil
}

func (r *processRuntime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true}, {Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

func (r *processRuntime) UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

func (r *processRuntime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{}, nil
}

// sandbox finds a pod. The caller holds r.mu.
func (r *processRuntime) sandbox(id string) (*sandbox, error) {
	if s := r.sandboxes[id]; s != nil {
		return s, nil
	}
	return nil, status.Errorf(codes.NotFound, "there is no sandbox %q", id)
}

func (r *processRuntime) container(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil {
		return c, nil
	}
	return nil, status.Errorf(codes.NotFound, "there is no container %q", id)
}

func newID() string { return strings.ReplaceAll(string(uuid.NewUUID()), "-", "") }

func hasLabels(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if labels[k] != v {
			return false
		}
	}
	return true
}
