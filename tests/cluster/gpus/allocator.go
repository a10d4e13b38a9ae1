// Package gpus hands out the numbered GPUs of one node.
package gpus

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// Owner is a container of a pod.
type Owner struct {
	Pod       types.UID
	Container string
}

// Allocator records which pod has which GPU. It is not safe for concurrent use.
type Allocator struct {
	count int
	given map[Owner][]string
}

// NewAllocator has the GPUs 0 to count-1.
func NewAllocator(count int) *Allocator { return &Allocator{count: count, given: map[Owner][]string{}} }

// Count is the number of GPUs, free or not.
func (a *Allocator) Count() int { return a.count }

// Give returns the GPUs that the owner has got before, as a container may be restarted, or free ones.
func (a *Allocator) Give(to Owner, want int) ([]string, error) {
	if mine := a.given[to]; mine != nil {
		return mine, nil
	}
	free := a.free()
	if len(free) < want {
		return nil, fmt.Errorf("%d GPUs wanted, %d free", want, len(free))
	}
	a.given[to] = free[:want]
	return a.given[to], nil
}

// KeepOnly takes back the GPUs of all other pods.
func (a *Allocator) KeepOnly(pods map[types.UID]bool) {
	maps.DeleteFunc(a.given, func(o Owner, _ []string) bool { return !pods[o.Pod] })
}

func (a *Allocator) free() (free []string) {
	taken := slices.Concat(slices.Collect(maps.Values(a.given))...)
	for i := range a.count {
		if gpu := strconv.Itoa(i); !slices.Contains(taken, gpu) {
			free = append(free, gpu)
		}
	}
	return free
}
