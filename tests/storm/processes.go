package storm

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sailor.dev/tests/cluster/process"
)

// Process is one of a program's processes, as the kernel counts it.
type Process struct {
	PID         int
	Kind        string // the first argument, such as agent or worker
	Descriptors int    // open files
	Resident    int64  // bytes of memory
}

// Processes returns the descendants of this process that run the program in this file: those of a cluster that it has started, and not
// those of tests that run beside it. A process that ends during the look-up is left out.
func Processes(program string) ([]Process, error) {
	var found []Process
	tree, err := process.Tree(os.Getpid())
	if err != nil {
		return nil, err
	}
	for _, pid := range tree {
		folder := fmt.Sprintf("/proc/%d", pid)
		if executable, err := os.Readlink(filepath.Join(folder, "exe")); err != nil || executable != program {
			continue
		}
		if process, ok := read(folder); ok {
			found = append(found, process)
		}
	}
	return found, nil
}

func read(folder string) (process Process, ok bool) {
	files, err := os.ReadDir(filepath.Join(folder, "fd"))
	if err != nil {
		return process, false
	}
	pages, err := os.ReadFile(filepath.Join(folder, "statm"))
	if err != nil {
		return process, false
	}
	arguments, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil {
		return process, false
	}
	fields, words := strings.Fields(string(pages)), strings.Split(string(arguments), "\x00")
	if len(fields) < 2 || len(words) < 2 {
		return process, false
	}
	resident, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return process, false
	}
	pid, err := strconv.Atoi(filepath.Base(folder))
	return Process{pid, words[1], len(files), resident * int64(os.Getpagesize())}, err == nil
}
