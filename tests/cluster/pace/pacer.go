package pace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scanEvery is how often the pacer looks for workers that have started or ended.
const scanEvery = 300 * time.Millisecond

// longestSleep is how long the pacer sleeps if it has no workers.
const longestSleep = 10 * time.Millisecond

// Priorities as nice(1) counts them. The rest of the machine must not take from the workers what their budgets give them.
// Raising them needs root; for another user workers get less on a busy machine.
const (
	priorityOfWorkers = -10 // of those that have budgets
	usualPriority     = 0
)

// Pacer lets the workers of some machines use a part of a processor only.
type Pacer struct {
	share float64 // of a processor, for a worker that is not slow; 1: it runs all the time
	zero  time.Time
	list  func(machine int) ([]int, error) // the process ids of a machine's workers

	mu       sync.Mutex
	machines map[int]float64 // by the process id of the kubelet: how many times as long its workers take
	workers  map[int]*worker // by process id; only those that do not run all the time
}

type worker struct {
	process  *os.Process
	machine  int
	slowdown float64
	budget   budget
}

// NewPacer paces until ctx ends. Then all workers run all the time.
func NewPacer(ctx context.Context, share float64, list func(machine int) ([]int, error)) *Pacer {
	p := &Pacer{share: share, zero: time.Now(), list: list, machines: map[int]float64{}, workers: map[int]*worker{}}
	go p.scan(ctx)
	go p.keepToBudgets(ctx)
	return p
}

// Set makes the computations of a machine's workers take this many times as long as those of a machine that is not slow.
func (p *Pacer) Set(kubelet int, slowdown float64) {
	p.mu.Lock()
	p.machines[kubelet] = slowdown
	p.mu.Unlock()
	p.look(kubelet)
}

// Release lets the workers of a machine run all the time, until Set is called again.
func (p *Pacer) Release(kubelet int) {
	p.mu.Lock()
	delete(p.machines, kubelet)
	p.mu.Unlock()
	p.update(kubelet, nil)
}

func (p *Pacer) scan(ctx context.Context) {
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			for _, kubelet := range p.known() {
				p.look(kubelet)
			}
		case <-ctx.Done():
			for _, kubelet := range p.known() {
				p.Release(kubelet)
			}
			return
		}
	}
}

func (p *Pacer) known() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.machines))
}

// paced returns how slow the workers of a machine are, and false if they run all the time. The caller holds p.mu.
func (p *Pacer) paced(kubelet int) (slowdown float64, ok bool) {
	slowdown, isKnown := p.machines[kubelet]
	return slowdown, isKnown && p.share/slowdown < 1
}

// hasToPace is for a caller that does not hold p.mu. Listing workers takes milliseconds, so the pacer does not list
// those that run all the time.
func (p *Pacer) hasToPace(kubelet int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.paced(kubelet)
	return ok
}

// look paces the present workers of a machine. It holds no lock while it looks for them, because that would delay looks.
func (p *Pacer) look(kubelet int) {
	var pids []int
	if p.hasToPace(kubelet) {
		var err error
		if pids, err = p.list(kubelet); err != nil {
			return // the next scan tries again
		}
	}
	for _, pid := range p.update(kubelet, pids) {
		setPriority(pid, priorityOfWorkers)
	}
}

// update paces these workers of a machine and no others, unless they run all the time. It returns those that it paces.
func (p *Pacer) update(kubelet int, pids []int) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	slowdown, ok := p.paced(kubelet)
	if !ok {
		pids = nil
	}
	for pid, w := range p.workers {
		if w.machine == kubelet && (!slices.Contains(pids, pid) || w.slowdown != slowdown) {
			p.release(pid)
		}
	}
	for _, pid := range pids {
		if p.workers[pid] == nil {
			p.pace(pid, worker{machine: kubelet, slowdown: slowdown})
		}
	}
	return pids
}

// pace begins to keep a process to its budget. The caller holds p.mu.
func (p *Pacer) pace(pid int, w worker) {
	process, err := os.FindProcess(pid)
	if err != nil {
		return // it has ended
	}
	w.process = process
	used, err := processorTime(pid)
	if err != nil {
		return // likewise
	}
	w.budget = budgetOf(p.share/w.slowdown, time.Since(p.zero), used)
	w.signal()
	p.workers[pid] = &w
}

// release ends that. The caller holds p.mu.
func (p *Pacer) release(pid int) {
	_ = p.workers[pid].process.Signal(syscall.SIGCONT) // an error means that it has ended
	setPriority(pid, usualPriority)
	_ = p.workers[pid].process.Release()
	delete(p.workers, pid)
}

// signal stops the process or lets it continue, as its budget says.
func (w *worker) signal() {
	signal := syscall.SIGSTOP
	if w.budget.runs {
		signal = syscall.SIGCONT
	}
	_ = w.process.Signal(signal) // an error means that it has ended, which the next scan sees
}

func (p *Pacer) keepToBudgets(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(p.lookAtAllThatAreDue())
	}
}

// lookAtAllThatAreDue returns the time until the next look.
func (p *Pacer) lookAtAllThatAreDue() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Since(p.zero)
	next := now + longestSleep
	for pid, w := range p.workers {
		if w.budget.next <= now {
			used, err := processorTime(pid)
			if err != nil {
				continue // it has ended, which the next scan sees
			}
			if w.budget.look(now, used) {
				w.signal()
			}
		}
		next = min(next, w.budget.next)
	}
	return next - time.Since(p.zero)
}

// processorTime is what all threads of a process have used so far.
func processorTime(pid int) (time.Duration, error) {
	const ofAllThreads = 2 // see clock_getcpuclockid(3)
	var used unix.Timespec
	err := unix.ClockGettime(^int32(pid)<<3|ofAllThreads, &used)
	return time.Duration(used.Nano()), err
}

// setPriority is for all threads of a process. It may have started some since the last time.
func setPriority(pid, priority int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		if id, err := strconv.Atoi(filepath.Base(thread)); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, id, priority) // an error means that it has ended, or that we are not root
		}
	}
}
