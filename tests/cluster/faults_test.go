package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"sailor.dev/tests/cluster/control"
	"sailor.dev/tests/cluster/process"
	"sailor.dev/tests/cluster/testcluster"
)

// scan reads lines until one is as wanted.
func scan(t *testing.T, log *bufio.Scanner, want string) {
	t.Helper()
	for log.Scan() {
		if log.Text() == want {
			return
		}
	}
	t.Fatalf("the log ended without the line %q", want)
}

// stubborn hears SIGTERM and stays.
const stubborn = `trap "echo heard" TERM; echo started; while true; do sleep 0.1; done`

func TestAPreemptedNodeIsTaintedItsPodsHearOfItAndItIsGone(t *testing.T) {
	node := aNode(t, "l4-spot")
	create(t, onNode(aPod("stubborn", stubborn), node))
	eventually(t, "stubborn", "run", isRunning)
	log := lines(t, "stubborn")
	scan(t, log, "started")
	tainted := watchForTaint(t, node, "cloud.google.com/impending-node-termination")
	processes := runningOn(t, node)

	preempted := make(chan error, 1)
	began := time.Now()
	go func() { preempted <- shared.Preempt(context.Background(), node, 3*time.Second) }()
	scan(t, log, "heard")
	<-tainted
	if err := <-preempted; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 3*time.Second { // the pod had its grace period
		t.Errorf("the node had %s", took)
	}
	if _, err := shared.Kubernetes.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("its Node object is there: %v", err)
	}
	assertEnded(t, processes)
}

func TestAPreemptedPodThatEndsInTimeReportsThat(t *testing.T) {
	node := aNode(t, "l4-spot")
	create(t, onNode(aPod("obedient", `trap "exit 0" TERM; while true; do sleep 0.1; done`), node))
	eventually(t, "obedient", "run", isRunning)
	if err := shared.Preempt(t.Context(), node, time.Minute); err != nil {
		t.Fatal(err)
	}
	pod := eventually(t, "obedient", "end", hasEnded)
	if code := pod.Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 0 {
		t.Errorf("its exit code is %d", code)
	}
}

func TestAKilledNodeLeavesNoProcessAndBecomesNotReady(t *testing.T) {
	node := aNode(t, "t4")
	create(t, onNode(aPod("victim", "setsid sleep 1000 & sleep 1000"), node)) // one of them in a session of its own
	eventually(t, "victim", "run", isRunning)
	processes := runningOn(t, node)
	if len(processes) < 3 {
		t.Fatalf("only %v run on the node", processes)
	}
	if err := shared.Kill(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	assertEnded(t, processes)
	assertState(t, node, control.Killed)
	awaitNode(t, node, corev1.ConditionUnknown)

	if err := shared.Start(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	awaitNode(t, node, corev1.ConditionTrue)
}

func TestAFrozenNodeStandsStillAndGoesOnWhenItThaws(t *testing.T) {
	node := aNode(t, "t4")
	create(t, onNode(aPod("counting", "sh -c 'while true; do sleep 0.1; done' & sleep 1000"), node))
	eventually(t, "counting", "run", isRunning)
	if err := shared.Freeze(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	assertState(t, node, control.Frozen)
	for _, pid := range runningOn(t, node) {
		// A sleep that ended just before stays a zombie until its stopped shell looks after it.
		if state := processState(pid); state != "T" && state != "Z" {
			t.Errorf("process %d is in state %s", pid, state)
		}
	}
	if err := shared.Thaw(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	assertState(t, node, control.Running)
	for _, pid := range runningOn(t, node) {
		if state := processState(pid); state == "T" {
			t.Errorf("process %d is still stopped", pid)
		}
	}
	if got, err := shared.Kubectl(t.Context(), "exec", "counting", "--", "echo", "alive"); err != nil || got != "alive\n" {
		t.Errorf("exec said %q, %v", got, err)
	}
}

// stoppedShare is the part of some moments within a second in which the process is stopped.
func stoppedShare(pid int) float64 {
	const moments = 100
	stopped := 0
	for range moments {
		if processState(pid) == "T" {
			stopped++
		}
		time.Sleep(10 * time.Millisecond)
	}
	return float64(stopped) / moments
}

// processorTime is how long the process has computed since it started.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	nanoseconds, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(nanoseconds)
}

// slowdown is how many times as long a process takes that is stopped now and then, the time in which it waits for a processor
// aside: beside other work that one is long.
func slowdown(t *testing.T, pid int) float64 {
	t.Helper()
	before, began := processorTime(t, pid), time.Now()
	stopped := stoppedShare(pid) * time.Since(began).Seconds()
	computed := (processorTime(t, pid) - before).Seconds()
	return (computed + stopped) / computed
}

func TestTheWorkersOfASlowNodeAreStoppedMostOfTheTimeAndItsAgentsAreNot(t *testing.T) {
	node := aNode(t, "l4")
	create(t, onNode(aPod("busy", "sh -c 'while true; do :; done' & wait"), node))
	eventually(t, "busy", "run", isRunning)
	running := runningOn(t, node)
	agent, worker := running[len(running)-2], running[len(running)-1]
	if err := shared.Slow(t.Context(), node, 4); err != nil {
		t.Fatal(err)
	}
	if factor := slowdown(t, worker); factor < 3 || factor > 5 {
		t.Errorf("the worker is %.2g times slower, not 4 times", factor)
	}
	if share := stoppedShare(agent); share > 0 {
		t.Errorf("its agent is stopped for %g of the time", share)
	}
	if got := find(t, node).Slowdown; got != 4 {
		t.Errorf("the node says that it is %g times slower", got)
	}
	if err := shared.Slow(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	if share := stoppedShare(worker); share > 0 {
		t.Errorf("the worker of a node that is not slow any more is stopped for %g of the time", share)
	}
	if err := shared.Slow(t.Context(), node, 0.5); err == nil {
		t.Error("a factor below 1 was accepted")
	}
}

// watchForTaint returns a channel that is closed when the node has the taint.
func watchForTaint(t *testing.T, node, key string) <-chan struct{} {
	t.Helper()
	watch, err := shared.Kubernetes.CoreV1().Nodes().Watch(t.Context(),
		metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", node).String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
	seen := make(chan struct{})
	go func() {
		for event := range watch.ResultChan() {
			for _, taint := range event.Object.(*corev1.Node).Spec.Taints {
				if taint.Key == key {
					close(seen)
					return
				}
			}
		}
	}()
	return seen
}

func find(t *testing.T, node string) control.Node {
	t.Helper()
	nodes, err := shared.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.Name == node {
			return n
		}
	}
	t.Fatalf("there is no node %s among %v", node, nodes)
	return control.Node{}
}

func assertState(t *testing.T, node string, want control.NodeState) {
	t.Helper()
	if got := find(t, node).State; got != want {
		t.Errorf("node %s is %s, want %s", node, got, want)
	}
}

// runningOn lists the processes of a node.
func runningOn(t *testing.T, node string) []int {
	t.Helper()
	pids, err := process.Tree(find(t, node).PID)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// processState is the letter of /proc/PID/stat, or nothing if the process has ended.
func processState(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return after[:1]
}

// assertEnded tells which processes have not ended.
func assertEnded(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if state := processState(pid); state != "" && state != "Z" { // a zombie has ended, too
			t.Errorf("process %d still runs, in state %s", pid, state)
		}
	}
}

// eventuallyEnded waits until the processes have ended.
func eventuallyEnded(t *testing.T, pids []int) {
	t.Helper()
	testcluster.Eventually(t, patience, "all processes to end", func(context.Context) (bool, error) {
		for _, pid := range pids {
			if state := processState(pid); state != "" && state != "Z" {
				return false, fmt.Errorf("process %d is in state %s", pid, state)
			}
		}
		return true, nil
	})
}
