// Package storm makes random events at a cluster's nodes: kills, freezes, notices and new nodes, in bursts, at random
// moments, also in the middle of a rescale. The same seed makes the same choices among the same nodes.
package storm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"sailor.dev/tests/cluster/control"
)

// Kind is what happens to a node.
type Kind string

// The kinds of events.
const (
	Kill   Kind = "kill"   // no notice; its Node object is deleted a moment later
	Freeze Kind = "freeze" // the node thaws once the job has given it up
	Notice Kind = "notice" // a spot preemption
	Add    Kind = "add"    // a missing node comes back
)

// Options of a storm.
type Options struct {
	Events  int
	Seed    uint64
	Nodes   []string // the nodes with GPUs that events may hit
	Pools   map[string]string
	Keep    int           // the number of nodes that are not affected at any moment
	Frozen  time.Duration // how long a frozen node stays frozen
	Grace   time.Duration // the grace period of a notice
	Longest time.Duration // the longest pause between two bursts
	Say     func(format string, args ...any)
	// AwaitReady returns when an added node is ready, so that an event can hit it.
	AwaitReady func(ctx context.Context, node string) error
}

// Storm is a running storm.
type Storm struct {
	options Options
	cluster control.Operations
	random  *rand.Rand
	counts  map[Kind]int

	mutex    sync.Mutex
	up       []string // nodes that run, by name
	missing  []string // pools that lack a node
	waiting  sync.WaitGroup
	failures []error
}

// Run is a whole storm. It returns when the last event is over, and all nodes that went are back, with the count of each kind.
func Run(ctx context.Context, cluster control.Operations, options Options) (map[Kind]int, error) {
	s := &Storm{options: options, cluster: cluster, random: rand.New(rand.NewPCG(options.Seed, options.Seed)), counts: map[Kind]int{}}
	s.up = slices.Clone(options.Nodes)
	slices.Sort(s.up)
	for done := 0; done < options.Events && ctx.Err() == nil; {
		burst := 1 + s.random.IntN(3)
		for range min(burst, options.Events-done) {
			done += s.one(ctx)
			s.pause(ctx, 400*time.Millisecond)
		}
		s.pause(ctx, options.Longest)
	}
	s.waiting.Wait()
	for s.bring(ctx, Add) > 0 {
	}
	s.waiting.Wait()
	return s.counts, errors.Join(append(s.failures, ctx.Err())...)
}

func (s *Storm) pause(ctx context.Context, longest time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(s.random.Int64N(int64(longest)))):
	}
}

// one plays one event, or none if nothing can happen now. Freezes are rare, because each takes long.
func (s *Storm) one(ctx context.Context) int {
	kinds := []Kind{Kill, Kill, Kill, Notice, Notice, Notice, Add, Add, Add, Freeze}
	return s.bring(ctx, kinds[s.random.IntN(len(kinds))])
}

func (s *Storm) bring(ctx context.Context, kind Kind) int {
	if kind == Add {
		return s.add(ctx)
	}
	node, pool, ok := s.take()
	if !ok {
		return s.add(ctx)
	}
	s.counts[kind]++
	s.options.Say("%s %s", kind, node)
	s.waiting.Add(1)
	go func() {
		defer s.waiting.Done()
		s.note(s.hit(ctx, kind, node, pool))
	}()
	return 1
}

// take chooses a running node and removes it from the list, unless too few would be left.
func (s *Storm) take() (node, pool string, ok bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.up) <= s.options.Keep {
		return "", "", false
	}
	i := s.random.IntN(len(s.up))
	node = s.up[i]
	s.up = slices.Delete(s.up, i, i+1)
	return node, s.options.Pools[node], true
}

func (s *Storm) hit(ctx context.Context, kind Kind, node, pool string) error {
	switch kind {
	case Kill:
		if err := s.cluster.Kill(ctx, node); err != nil {
			return err
		}
		if err := s.cluster.Delete(ctx, node); err != nil {
			return err
		}
	case Notice:
		if err := s.cluster.Preempt(ctx, node, s.options.Grace); err != nil {
			return err
		}
	case Freeze:
		return s.freeze(ctx, node)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.missing = append(s.missing, pool)
	return nil
}

func (s *Storm) freeze(ctx context.Context, node string) error {
	if err := s.cluster.Freeze(ctx, node); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(s.options.Frozen):
	}
	if err := s.cluster.Thaw(context.WithoutCancel(ctx), node); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.up = append(s.up, node)
	slices.Sort(s.up)
	return nil
}

func (s *Storm) add(ctx context.Context) int {
	s.mutex.Lock()
	if len(s.missing) == 0 {
		s.mutex.Unlock()
		return 0
	}
	pool := s.missing[0]
	s.missing = s.missing[1:]
	s.mutex.Unlock()
	s.counts[Add]++
	node, err := s.cluster.Add(ctx, pool)
	s.options.Say("add %s", node)
	if err != nil {
		s.note(fmt.Errorf("adding a node to %s: %w", pool, err))
		return 1
	}
	s.waiting.Add(1)
	go func() {
		defer s.waiting.Done()
		if err := s.options.AwaitReady(ctx, node); err != nil {
			s.note(err)
			return
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.options.Pools[node] = pool
		s.up = append(s.up, node)
		slices.Sort(s.up)
	}()
	return 1
}

func (s *Storm) note(err error) {
	if err == nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.failures = append(s.failures, err)
}
