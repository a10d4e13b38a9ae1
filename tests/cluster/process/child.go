// Package process starts the parts of the cluster as processes that cannot outlive it, and stops whole trees of them.
package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Command says how one component is run. It is this program under another name.
type Command struct {
	Name      string // the name of its log file
	Component string // the name on which main dispatches
	Args      []string
	Env       []string   // variables in addition to ours
	Files     []*os.File // open in the child as descriptors 3 and up
	Machine   bool       // gets PID and mount namespaces: when it ends, all its descendants and mounts do, before Stop returns
}

// Child is a running component.
type Child struct {
	Name    string
	LogFile string
	cmd     *exec.Cmd
	exited  chan struct{}
}

// Start runs the component with its output in LOGDIR/NAME.log.
func Start(logDir string, c Command) (*Child, error) {
	if err := os.MkdirAll(logDir, 0o755); err != nil {
		return nil, err
	}
	logFile := filepath.Join(logDir, c.Name+".log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", c.Args...)
	cmd.Args[0] = c.Component
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, c.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Machine {
		// The process itself enters the PID namespace (clone); the mount namespace is unshared after that, because
		// Go then keeps its mounts from spreading to ours.
		cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWPID, syscall.CLONE_NEWNS
	}
	if err := StartBound(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	child := &Child{Name: c.Name, LogFile: logFile, cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(child.exited)
	}()
	return child, nil
}

// PID is the process id of the child.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Exited is closed when the child has ended.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Running tells whether the child has not ended yet.
func (c *Child) Running() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// Obituary is an error that tells of the child's end with the last line of its log.
func (c *Child) Obituary() error {
	text, err := os.ReadFile(c.LogFile)
	if err != nil {
		return fmt.Errorf("%s ended: %w", c.Name, err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return fmt.Errorf("%s ended; its last words in %s: %s", c.Name, c.LogFile, lines[len(lines)-1])
}

// Stop sends the signal and, if the child has not ended after the grace, SIGKILL; it returns when the child has ended.
func (c *Child) Stop(signal syscall.Signal, grace time.Duration) {
	_ = c.cmd.Process.Signal(signal) // an error means that it has ended
	select {
	case <-c.exited:
	case <-time.After(grace):
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

var lastingThread = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// StartBound starts the command so that the kernel kills it when this process ends, however it ends. It does so on a thread
// that lives as long as this process: the parent-death signal comes when the *thread* that started a child ends.
func StartBound(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	result := make(chan error)
	lastingThread() <- func() { result <- cmd.Start() }
	return <-result
}
