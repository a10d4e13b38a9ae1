package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Freeze stops a process and all its descendants, as if their machine hung.
func Freeze(root int) error {
	stopped := map[int]bool{}
	for { // a process that is not stopped yet may still start others, so look again until none is new
		tree, err := Tree(root)
		if err != nil {
			return err
		}
		news := false
		for _, pid := range tree {
			if !stopped[pid] {
				stopped[pid], news = true, true
				_ = syscall.Kill(pid, syscall.SIGSTOP) // an error means that it has ended
			}
		}
		if !news {
			return nil
		}
	}
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
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("listing the processes in /proc: nothing found (%v)", err)
	}
	children := map[int][]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil { // the process has just ended
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if parent, ok := parentIn(text); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	return children, nil
}

// parentIn reads the parent from a /proc/PID/stat: "PID (NAME) STATE PARENT ...", where NAME may hold anything.
func parentIn(stat []byte) (int, bool) {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
