package runtime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"sailor.dev/tests/cluster/config"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// commandLine returns the command line of the pod. If the pod has no command, it begins with that of the image.
func commandLine(c *runtimeapi.ContainerConfig, image config.Image) ([]string, error) {
	name := c.Image.GetUserSpecifiedImage()
	switch {
	case len(c.Command) > 0:
		return slices.Concat(c.Command, c.Args), nil
	case len(image.Entrypoint) > 0:
		return slices.Concat(image.Entrypoint, c.Args), nil
	default:
		return nil, fmt.Errorf("the container has no command, and the cluster's configuration has no entrypoint for image %q", name)
	}
}

// start runs the container's command and returns when it has begun.
func (r *processRuntime) start(c *container) error {
	log, err := openLog(c.LogPath)
	if err != nil {
		return err
	}
	c.log = log
	cmd := &exec.Cmd{Path: initInContainer, Dir: c.config.WorkingDir, Env: r.environment(c)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = log.stream("stdout"), log.stream("stderr")

	started := make(chan error, 1)
	go func() {
		err := runOnThread(cmd, func() error { return r.enter(c, cmd) }, func(err error) {
			r.noteStart(c, cmd.Process, err)
			started <- err
		})
		r.noteEnd(c, err)
		log.close()
		os.Remove(r.scratch(c))
		close(c.exited)
	}()
	return <-started
}

func (r *processRuntime) scratch(c *container) string {
	return filepath.Join(r.spec.Dir, "containers", c.Id)
}

// gpuMachineNice is the niceness of containers on machines with GPUs. Each of these machines would have processors of its own. Here their
// workers, which compute all the time, share those of this machine with Kubernetes, which is to answer as promptly as beside them.
const gpuMachineNice = 5

// enter makes the calling thread ready to start the container's first process.
func (r *processRuntime) enter(c *container, cmd *exec.Cmd) error {
	if r.spec.Pool.GPUs > 0 {
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, gpuMachineNice); err != nil { // of this thread, and of what it starts
			return fmt.Errorf("lowering the priority of a container: %w", err)
		}
	}
	mounts := append([]*runtimeapi.Mount{{HostPath: r.initFile, ContainerPath: initInContainer}}, c.config.Mounts...)
	if err := r.enterNewContainer(c, mounts); err != nil {
		return err
	}
	access := "rw"
	if c.image.Root != "" && c.config.GetLinux().GetSecurityContext().GetReadonlyRootfs() {
		access = "ro"
	}
	program, err := lookPath(c.args[0], cmd.Env)
	cmd.Args = append([]string{initInContainer, access, userOf(c).String(), program}, c.args...)
	return err
}

func (r *processRuntime) noteStart(c *container, process *os.Process, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		c.State, c.StartedAt, c.process = runtimeapi.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano(), process
	}
}

func (r *processRuntime) noteEnd(c *container, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.State, c.FinishedAt, c.ExitCode = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now().UnixNano(), exitCode(err)
	switch {
	case c.StartedAt == 0:
		c.Reason, c.Message = "StartError", err.Error()
	case c.ExitCode != 0:
		c.Reason = "Error"
	default:
		c.Reason = "Completed"
	}
}

// environment is the image's and the pod's, with a PATH and the way to the API server.
func (r *processRuntime) environment(c *container) []string {
	path := strings.Join(append(slices.Clone(c.image.Path), defaultPath), ":")
	env := []string{"PATH=" + path, "HOME=" + userOf(c).home(), "HOSTNAME=" + c.sandbox.config.Hostname}
	for name, value := range c.image.Env {
		env = append(env, name+"="+value)
	}
	for _, e := range c.config.Envs {
		value := e.Value
		// There is no kube-proxy to lead from the port of the service to that of the server.
		if e.Key == "KUBERNETES_SERVICE_PORT" || e.Key == "KUBERNETES_SERVICE_PORT_HTTPS" {
			value = strconv.Itoa(r.spec.APIServerPort)
		}
		env = append(env, e.Key+"="+value) // os/exec takes the last of two values for one name
	}
	return env
}

// stop ends the container: SIGTERM, after the grace SIGKILL.
func (r *processRuntime) stop(c *container, grace time.Duration) {
	r.mu.Lock()
	process := c.process
	r.mu.Unlock()
	if process == nil {
		return
	}
	if grace > 0 {
		_ = process.Signal(syscall.SIGTERM) // an error means that it has ended
		select {
		case <-c.exited:
		case <-time.After(grace):
		}
	}
	_ = process.Kill() // PID 1 of its namespace: all others in it end too
	<-c.exited
}

func exitCode(err error) int32 {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case !errors.As(err, &exit):
		return 128
	}
	if status := exit.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(exit.ExitCode())
}
