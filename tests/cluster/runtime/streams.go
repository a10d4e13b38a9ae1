package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	utilexec "k8s.io/utils/exec"
)

func (r *processRuntime) Exec(_ context.Context, request *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	return r.streaming.GetExec(request)
}

func (r *processRuntime) Attach(_ context.Context, request *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	return r.streaming.GetAttach(request)
}

func (r *processRuntime) PortForward(_ context.Context, request *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	return r.streaming.GetPortForward(request)
}

// streams are the interactive requests, which come through the streaming server.
type streams struct{ r *processRuntime }

func (s streams) Exec(ctx context.Context, id string, args []string, in io.Reader, stdout, stderr io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	var errors io.Writer // a nil of type io.WriteCloser would not be a nil io.Writer
	if stderr != nil {
		errors = stderr
	}
	err := s.r.exec(ctx, id, args, in, stdout, errors)
	switch code := exitCode(err); code {
	case 0:
		return nil
	case 128: // the program did not start
		return err
	default:
		return utilexec.CodeExitError{Err: err, Code: int(code)}
	}
}

func (s streams) Attach(context.Context, string, io.Reader, io.WriteCloser, io.WriteCloser, bool, <-chan remotecommand.TerminalSize) error {
	return errors.New("this cluster's containers cannot be attached to: use kubectl logs or exec")
}

func (s streams) PortForward(_ context.Context, id string, port int32, stream io.ReadWriteCloser) error {
	s.r.mu.Lock()
	sandbox, err := s.r.sandbox(id)
	s.r.mu.Unlock()
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", net.JoinHostPort(s.r.spec.PodIP(sandbox.host), strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("forwarding a port to pod %s: %w", sandbox.Metadata.Name, err)
	}
	defer conn.Close()
	go func() { _, _ = io.Copy(conn, stream) }() // ends with either side
	_, err = io.Copy(stream, conn)
	return err
}
