package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ExecSync is for probes and hooks.
func (r *processRuntime) ExecSync(ctx context.Context, request *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	if request.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(request.Timeout)*time.Second)
		defer cancel()
	}
	var stdout, stderr bytes.Buffer
	err := r.exec(ctx, request.ContainerId, request.Cmd, nil, &stdout, &stderr)
	if ctx.Err() != nil {
		return nil, status.Errorf(codes.DeadlineExceeded, "command %q timed out", request.Cmd)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	return &runtimeapi.ExecSyncResponse{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), ExitCode: exitCode(err)}, nil
}

// exec runs another command in a container. The command ends with the container's first process. (It must not have a
// Pdeathsig: in a PID namespace other than its parent's, Go believes that the parent is dead, and kills the command.)
func (r *processRuntime) exec(ctx context.Context, id string, args []string, in io.Reader, stdout, stderr io.Writer) error {
	c, err := r.container(id)
	if err != nil {
		return err
	}
	r.mu.Lock()
	process, state := c.process, c.State
	r.mu.Unlock()
	if state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return fmt.Errorf("container %q is not running", id)
	}
	cmd := exec.CommandContext(ctx, args[0])
	cmd.WaitDelay = time.Second // for processes that outlive the command and still hold its output
	cmd.Err = nil               // the error of a look-up in the wrong file system
	cmd.Args, cmd.Dir = args, c.config.WorkingDir
	cmd.Env = r.environment(c)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: userOf(c).credential()}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := feed(cmd, in); err != nil {
		return err
	}
	return runOnThread(cmd, func() error {
		if err := enterContainer(process.Pid); err != nil {
			return err
		}
		cmd.Path, err = lookPath(args[0], cmd.Env)
		return err
	}, func(error) {})
}

// feed gives the command its input. (With cmd.Stdin, Wait would wait for the end of the input.)
func feed(cmd *exec.Cmd, in io.Reader) error {
	if in == nil {
		return nil
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(pipe, in) // ends with either side
		pipe.Close()
	}()
	return nil
}
