package cloud

import (
	"crypto/x509/pkix"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/controlplane"
	"sailor.dev/tests/cluster/node"
	"sailor.dev/tests/cluster/pace"
	"sailor.dev/tests/cluster/process"
)

// machine is a node's hardware. It is on while its kubelet runs.
type machine struct {
	spec  node.Spec
	pacer *pace.Pacer

	mu         sync.Mutex
	kubelet    *process.Child
	slowdown   float64 // of its GPUs; 1: they are as fast as usual
	frozen     bool
	preempting bool

	removal      sync.Once
	removalError error
}

// issueIdentity gives the machine its certificate and its way to the API server.
func (m *machine) issueIdentity(cp *controlplane.ControlPlane) error {
	if err := os.MkdirAll(m.spec.Dir, 0o700); err != nil {
		return err
	}
	user := pkix.Name{CommonName: "system:node:" + m.spec.Name, Organization: []string{"system:nodes"}}
	if err := cp.PKI.Issue(m.spec.Certificate(), user, m.spec.IP()); err != nil {
		return err
	}
	if err := cp.PKI.KubeconfigWith(m.spec.File("kubeconfig"), cp.Server(), m.spec.Certificate()); err != nil {
		return err
	}
	return m.spec.Write(m.spec.File("spec.json"))
}

// boot starts the kubelet.
func (m *machine) boot(logDir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kubelet != nil && m.kubelet.Running() {
		return fmt.Errorf("node %q is running already", m.spec.Name)
	}
	kubelet, err := process.Start(logDir, process.Command{
		Name: "kubelet-" + m.spec.Name, Component: "kubelet", Args: []string{m.spec.File("spec.json")},
		Env:     []string{"GOGC=50"}, // many kubelets share one machine: less memory for a little more work
		Machine: true})
	if err != nil {
		return err
	}
	m.kubelet, m.frozen = kubelet, false
	m.pacer.Set(kubelet.PID(), m.slowdown)
	return nil
}

// kill is a crash: the kubelet, its containers and all their processes end at once.
func (m *machine) kill() { m.stop(syscall.SIGKILL, time.Minute) }

// shutDown tells the kubelet to end the pods, and kills those that do not end in time.
func (m *machine) shutDown(end time.Time) { m.stop(syscall.SIGTERM, time.Until(end)) }

func (m *machine) stop(signal syscall.Signal, grace time.Duration) {
	kubelet := m.running()
	kubelet.Stop(signal, grace)
	m.pacer.Release(kubelet.PID())
}

func (m *machine) running() *process.Child {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kubelet
}

// setFrozen stops all processes of the machine, or lets them continue.
func (m *machine) setFrozen(frozen bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.kubelet.Running() {
		return fmt.Errorf("node %q does not run: start it first", m.spec.Name)
	}
	m.frozen = frozen
	if frozen {
		m.pacer.Release(m.kubelet.PID()) // first, because it lets the workers continue
		return process.Freeze(m.kubelet.PID())
	}
	defer m.pacer.Set(m.kubelet.PID(), m.slowdown)
	return process.Thaw(m.kubelet.PID())
}

// setSlowdown lasts until the next call, also if the machine is started anew.
func (m *machine) setSlowdown(factor float64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.kubelet.Running() {
		return fmt.Errorf("node %q does not run: start it first", m.spec.Name)
	}
	m.slowdown = factor
	if !m.frozen {
		m.pacer.Set(m.kubelet.PID(), factor)
	}
	return nil
}

// beginPreemption fails if it has begun before.
func (m *machine) beginPreemption() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.preempting {
		return fmt.Errorf("node %q is being preempted already", m.spec.Name)
	}
	if !m.kubelet.Running() {
		return fmt.Errorf("node %q does not run: there is nothing to preempt", m.spec.Name)
	}
	m.preempting = true
	return nil
}

// cancelPreemption is for one that could not be announced.
func (m *machine) cancelPreemption() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.preempting = false
}

func (m *machine) describe() control.Node {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := control.Node{Name: m.spec.Name, Pool: m.spec.Pool.Name, Address: m.spec.IP(), PID: m.kubelet.PID(), Slowdown: m.slowdown}
	switch {
	case !m.kubelet.Running():
		n.State, n.PID = control.Killed, 0
	case m.preempting:
		n.State = control.Preempting
	case m.frozen:
		n.State = control.Frozen
	default:
		n.State = control.Running
	}
	return n
}
