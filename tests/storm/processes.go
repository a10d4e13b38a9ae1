package storm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is one of a program's processes, as the kernel counts it.
type Process struct {
	PID         int
	Kind        string // the first argument, such as agent or worker
	Descriptors int    // open files
	Resident    int64  // bytes of memory
}

// Processes returns the processes that run the program in this file. A process that ends during the look-up is left out.
func Processes(program string) []Process {
	var found []Process
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, folder := range folders {
		if executable, err := os.Readlink(filepath.Join(folder, "exe")); err != nil || executable != program {
			continue
		}
		if process, ok := read(folder); ok {
			found = append(found, process)
		}
	}
	return found
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
