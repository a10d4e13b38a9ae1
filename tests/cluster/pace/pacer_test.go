package pace

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// spin starts a process that would use one processor all the time.
func spin(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func statOf(t *testing.T, pid int) []string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, fields, _ := strings.Cut(string(text), ") ")
	return strings.Fields(fields)
}

// awaitState waits until a process is stopped, or until it is not.
func awaitState(t *testing.T, pid int, stopped bool) {
	t.Helper()
	const patience = time.Minute // on a very busy machine
	for began := time.Now(); isStopped(t, pid) != stopped; time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("for %s, the question whether the worker is stopped was not answered with %t", patience, stopped)
		}
	}
}

func isStopped(t *testing.T, pid int) bool { return statOf(t, pid)[0] == "T" }

func TestASlowWorkerIsStoppedAndContinuedOverAndOver(t *testing.T) {
	worker := spin(t)
	pacer := NewPacer(t.Context(), 1, func(int) ([]int, error) { return []int{worker}, nil })
	pacer.Set(1, 2)
	for range 5 {
		awaitState(t, worker, true)
		awaitState(t, worker, false)
	}
}

func TestWorkersThatRunAllTheTimeAreNotListed(t *testing.T) {
	var lists atomic.Int32
	pacer := NewPacer(t.Context(), 1, func(int) ([]int, error) { lists.Add(1); return nil, nil })
	pacer.Set(1, 1)
	if got := lists.Load(); got != 0 {
		t.Errorf("the processes were listed %d times", got)
	}
	pacer.Set(1, 2)
	if lists.Load() == 0 {
		t.Error("the workers of a slow machine were not listed")
	}
}

// priorityOf is the nice value of a process.
func priorityOf(t *testing.T, pid int) string {
	const nice = 16
	return statOf(t, pid)[nice]
}

func TestAWorkerGoesBeforeOthersOnlyWhileItHasABudget(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may raise priorities")
	}
	worker := spin(t)
	pacer := NewPacer(t.Context(), 1, func(int) ([]int, error) { return []int{worker}, nil })
	pacer.Set(1, 1)
	if got := priorityOf(t, worker); got != "0" {
		t.Errorf("a worker that runs all the time has the priority %s", got)
	}
	pacer.Set(1, 2)
	if got := priorityOf(t, worker); got != strconv.Itoa(priorityOfWorkers) {
		t.Errorf("a worker with a budget has the priority %s", got)
	}
	pacer.Set(1, 1)
	if got := priorityOf(t, worker); got != "0" {
		t.Errorf("a worker that had one has the priority %s", got)
	}
}

func TestAReleasedWorkerRunsAllTheTime(t *testing.T) {
	worker := spin(t)
	pacer := NewPacer(t.Context(), 1, func(int) ([]int, error) { return []int{worker}, nil })
	pacer.Set(1, 4)
	awaitState(t, worker, true)
	pacer.Release(1)
	for range 20 {
		if isStopped(t, worker) {
			t.Fatal("the worker is stopped")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
