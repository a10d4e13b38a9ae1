package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Freeze stops a process and all its descendants, as if their machine hung. It returns when none of them runs any more.
func Freeze(root int) error {
	for { // a process that does not stand still yet may start others, so look again until all do
		tree, err := Tree(root)
		if err != nil {
			return err
		}
		running := slices.DeleteFunc(tree, func(pid int) bool { return !runs(pid) })
		if len(running) == 0 {
			return nil
		}
		for _, pid := range running {
			_ = syscall.Kill(pid, syscall.SIGSTOP) // an error means that it has ended
		}
		time.Sleep(time.Millisecond) // a busy processor may take a while to stop them
	}
}

// runs tells whether a process has neither stopped nor ended.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := fieldsAfterName(stat)
	return err == nil && len(fields) > 0 && !bytes.Contains([]byte("TtZX"), fields[0])
}

// Thaw lets a frozen tree go on, the root last.
func Thaw(root int) error {
	tree, err := Tree(root)
	for i := len(tree) - 1; i >= 0; i-- {
		_ = syscall.Kill(tree[i], syscall.SIGCONT)
	}
	return err
}

// Tree lists a process and its descendants, parents before their children.
func Tree(root int) ([]int, error) {
	children, err := childrenOfAll()
	if err != nil {
		return nil, err
	}
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree, nil
}

func childrenOfAll() (map[int][]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1) // filepath.Glob would also list the folder of each process, which takes much longer
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	children := map[int][]int{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil { // something else than a process
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil { // the process has just ended
			continue
		}
		if parent, ok := parentIn(text); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	return children, nil
}

// fieldsAfterName returns the fields of a /proc/PID/stat, "PID (NAME) STATE PARENT ...", from the state on. NAME may hold
// anything.
func fieldsAfterName(stat []byte) [][]byte {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return nil
	}
	return bytes.Fields(stat[end+1:])
}

// parentIn reads the parent from a /proc/PID/stat.
func parentIn(stat []byte) (int, bool) {
	fields := fieldsAfterName(stat)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
