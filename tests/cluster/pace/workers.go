// Package pace makes GPUs slow. Here a GPU is a worker process, so the package stops worker processes and lets them
// continue.
package pace

import (
	"fmt"
	"os"
	"strings"

	"sailor.dev/tests/cluster/process"
)

// WorkersOf lists the worker processes of a machine: those that the first process of a container has started. The first
// process is the agent, which has no GPU and stays as fast as it is.
func WorkersOf(kubelet int) ([]int, error) {
	tree, err := process.Tree(kubelet)
	if err != nil {
		return nil, err
	}
	depth := len(namespaceIDs(kubelet))
	var workers []int
	for _, pid := range tree[1:] {
		// A container has a PID namespace of its own, in which its first process has the number 1.
		if ids := namespaceIDs(pid); len(ids) > depth && ids[len(ids)-1] != "1" {
			workers = append(workers, pid)
		}
	}
	return workers, nil
}

// namespaceIDs returns the process id in each PID namespace that the process is in, ours first. It returns none if the
// process has ended.
func namespaceIDs(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for _, line := range strings.Split(string(text), "\n") {
		if ids, found := strings.CutPrefix(line, "NSpid:"); found {
			return strings.Fields(ids)
		}
	}
	return nil
}
