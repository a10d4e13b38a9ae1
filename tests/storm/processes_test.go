package storm

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func pidsOf(t *testing.T, program string) (pids []int) {
	t.Helper()
	found, err := Processes(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range found {
		pids = append(pids, process.PID)
	}
	return pids
}

// Other tests run the same programs at the same time.
func TestOnlyProcessesThatThisOneHasStartedCount(t *testing.T) {
	ours := exec.Command("/usr/bin/sleep", "60")
	if err := ours.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = ours.Process.Kill()
		_ = ours.Wait()
	}()
	program, err := os.Readlink("/proc/" + strconv.Itoa(ours.Process.Pid) + "/exe")
	if err != nil {
		t.Fatal(err)
	}
	// The shell ends at once, so the other one is no descendant of this process.
	output, err := exec.Command("sh", "-c", "/usr/bin/sleep 60 >&- 2>&- & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	other, err := strconv.Atoi(strings.TrimSpace(string(output)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if process, err := os.FindProcess(other); err == nil {
			_ = process.Kill()
		}
	}()
	for running := ""; running != program; running, _ = os.Readlink("/proc/" + strconv.Itoa(other) + "/exe") {
		time.Sleep(time.Millisecond) // until the shell's child has become the program
	}
	if found := pidsOf(t, program); !slices.Equal(found, []int{ours.Process.Pid}) {
		t.Errorf("found %v; %d is ours, %d is not", found, ours.Process.Pid, other)
	}
}
