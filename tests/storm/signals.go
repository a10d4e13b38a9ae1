package storm

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"time"
)

// Victims are processes that signals hit.
type Victims struct {
	Name   string
	Find   func() ([]Process, error) // those that run now
	Kills  int                       // so many of ten signals kill; the others pause
	Paused time.Duration             // the longest pause
}

// Signals are SIGKILLs and pauses (SIGSTOP, and a while later SIGCONT) of random processes at random moments. The same seed makes the same
// choices among the same processes.
type Signals struct {
	Number  int
	Seed    uint64
	Victims []Victims
	Longest time.Duration // the longest time between two signals
	Say     func(format string, args ...any)
}

// Send sends all signals. It returns when no process is paused any more, with the number of kills and of pauses for each name.
func (s Signals) Send(ctx context.Context) (map[string]int, error) {
	random := rand.New(rand.NewPCG(s.Seed, s.Seed))
	counts := map[string]int{}
	var paused sync.WaitGroup
	defer paused.Wait()
	for sent := 0; sent < s.Number; {
		select {
		case <-ctx.Done():
			return counts, ctx.Err()
		case <-time.After(time.Duration(random.Int64N(int64(s.Longest)))):
		}
		victims := s.Victims[random.IntN(len(s.Victims))]
		found, err := victims.Find()
		if err != nil {
			return counts, err
		}
		kills, pause := random.IntN(10) < victims.Kills, time.Duration(random.Int64N(int64(victims.Paused)))
		if len(found) == 0 {
			continue // all of them have been killed, and none has started again yet
		}
		target, err := os.FindProcess(found[random.IntN(len(found))].PID)
		if err != nil {
			return counts, err
		}
		if kills {
			s.Say("kill %s %d", victims.Name, target.Pid)
			err = target.Kill()
			counts["kill "+victims.Name]++
		} else {
			s.Say("pause %s %d for %.1f s", victims.Name, target.Pid, pause.Seconds())
			err = target.Signal(syscall.SIGSTOP)
			counts["pause "+victims.Name]++
			paused.Add(1)
			go func() {
				defer paused.Done()
				time.Sleep(pause)
				_ = target.Signal(syscall.SIGCONT) // fails if the process has been killed meanwhile
			}()
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return counts, err
		}
		sent++
	}
	return counts, nil
}
