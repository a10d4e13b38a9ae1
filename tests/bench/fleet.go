package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"sailor.dev/tests/fleet"
)

// The goals of the operator with many jobs.
const (
	jobsPerSecond       = 42.7
	shareOfBareClient   = 0.6
	requestsOfAJob      = 12
	peakMegabytes       = 200
	coldStartSeconds    = 30
	noticeSecondsFew    = 0.1
	noticeSecondsMany   = 0.25
	lengthOfRest        = 30 * time.Second
	lengthOfTraining    = 30 * time.Second
	mostNotices         = 100
	patienceOfOnePhase  = 20 * time.Minute
	shareThatStartFirst = 0.1
)

// fleetSize is how many jobs and foreign pods there are.
type fleetSize struct{ jobs, foreign int }

// sizeOfFleet reads SAILOR_FLEET_JOBS and SAILOR_FLEET_FOREIGN. The goals are for 1,000 jobs and 20,000 foreign pods,
// which take seven minutes on two cores with 2,000 foreign pods; the default keeps a benchmark of everything short.
func sizeOfFleet() (fleetSize, error) {
	size := fleetSize{100, 2000}
	for name, value := range map[string]*int{"SAILOR_FLEET_JOBS": &size.jobs, "SAILOR_FLEET_FOREIGN": &size.foreign} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		number, err := strconv.Atoi(text)
		if err != nil || number < 0 {
			return size, fmt.Errorf("reading %s: %q is not a number of things", name, text)
		}
		*value = number
	}
	if size.jobs < 10 {
		return size, fmt.Errorf("reading SAILOR_FLEET_JOBS: a fleet has at least 10 jobs, not %d", size.jobs)
	}
	return size, nil
}

// fleetBench runs one fleet through all measurements.
type fleetBench struct {
	fleet *fleet.Fleet
	size  fleetSize
	first int // jobs that start before the others
	rows  []row
	bare  time.Duration
}

func measureFleet(ctx context.Context) (rows []row, err error) {
	size, err := sizeOfFleet()
	if err != nil {
		return nil, err
	}
	b := &fleetBench{size: size, first: max(2, int(shareThatStartFirst*float64(size.jobs)))}
	spare := b.first + mostNotices // for the nodes that are taken away
	f, err := fleet.Start(ctx, size.jobs*fleet.PodsOfJob+spare)
	if err != nil {
		return nil, err
	}
	b.fleet = f
	defer func() {
		if stopped := f.Stop(); err == nil {
			err = stopped
		}
	}()
	for _, phase := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"foreign pods", b.addForeign}, {"bare client", b.bareClient}, {"rest", b.rest}, {"first jobs", b.firstJobs},
		{"all jobs", b.allJobs}, {"training", b.training}, {"notices", b.notices}, {"peak memory", b.memory}, {"cold start", b.coldStart},
	} {
		fmt.Fprintf(os.Stderr, "[fleet] %s\n", phase.name)
		limited, cancel := context.WithTimeoutCause(ctx, patienceOfOnePhase, fmt.Errorf("not done within %s", patienceOfOnePhase))
		err := phase.run(limited)
		cancel()
		if err != nil {
			return b.rows, fmt.Errorf("measuring %s: %w", phase.name, err)
		}
	}
	return b.rows, nil
}

func (b *fleetBench) add(name string, value float64, unit string, goal *float64) {
	fmt.Fprintf(os.Stderr, "[fleet] %s: %.4g %s\n", name, value, unit)
	b.rows = append(b.rows, row{"fleet: " + name, value, unit, goal})
}

func (b *fleetBench) addForeign(ctx context.Context) error {
	return b.fleet.AddForeignPods(ctx, b.size.foreign)
}

// bareClient creates what the operator would create, as fast as eight connections can.
func (b *fleetBench) bareClient(ctx context.Context) error {
	template, err := b.fleet.Template(ctx)
	if err != nil {
		return err
	}
	if err := b.fleet.Scale(ctx, 0); err != nil {
		return err
	}
	jobs := b.size.jobs - b.first
	if b.bare, err = b.fleet.Bare(ctx, template, jobs); err != nil {
		return err
	}
	b.add(fmt.Sprintf("bare client, %d jobs, %d objects each, until the pods run", jobs, template.Objects()), float64(jobs)/b.bare.Seconds(), "jobs/s", nil)
	return b.fleet.Scale(ctx, 1)
}

func (b *fleetBench) rest(ctx context.Context) error {
	counters, err := b.fleet.AtRest(ctx, b.first, lengthOfRest)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d waiting, suspended and ended jobs each, %s: ", b.first, lengthOfRest)
	b.add(name+"writes", counters.Writes(), "", atMost(0))
	b.add(name+"reads", counters.Sum("GET"), "", nil)
	b.add(name+"passes", counters.Passes, "", nil)
	return nil
}

func (b *fleetBench) firstJobs(ctx context.Context) error {
	if _, err := b.fleet.Begin(ctx, 0, b.first); err != nil {
		return err
	}
	return b.notice(ctx, 0, b.first, noticeSecondsFew)
}

func (b *fleetBench) notice(ctx context.Context, first, last int, goal float64) error {
	var jobs []string
	for i := first; i < last && len(jobs) < mostNotices; i++ {
		jobs = append(jobs, fleet.JobName(i))
	}
	times, err := b.fleet.Notices(ctx, jobs)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("notice of a node to the first write, %d jobs train, %d notices: ", b.fleet.Jobs.InState("Running"), len(times))
	b.add(name+"median", fleet.Percentile(times, 0.5).Seconds(), "s", nil)
	b.add(name+"p99", fleet.Percentile(times, 0.99).Seconds(), "s", atMost(goal))
	return nil
}

func (b *fleetBench) allJobs(ctx context.Context) error {
	jobs := b.size.jobs - b.first
	simulator := ownCPU()
	begun, err := b.fleet.Begin(ctx, b.first, jobs)
	if err != nil {
		return err
	}
	rate := float64(jobs) / begun.Took.Seconds()
	ratio := b.bare.Seconds() / begun.Took.Seconds()
	b.add(fmt.Sprintf("%d jobs of %d pods, created to running", jobs, fleet.PodsOfJob), rate, "jobs/s", nil)
	b.add("time of a job, over the goal of 42.7 jobs/s", jobsPerSecond/rate, "", atMost(1))
	b.add("time of a job, over that of the bare client", 1/ratio, "", atMost(1/shareOfBareClient))
	b.add("requests of a job until it runs, without watches", (begun.Counters.Sum()-begun.Counters.Sum("WATCH"))/float64(jobs), "", atMost(requestsOfAJob))
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		b.add("of which "+method, begun.Counters.Sum(method)/float64(jobs), "", nil)
	}
	b.add("passes of a job until it runs", begun.Counters.Passes/float64(jobs), "", nil)
	b.add("searches for a plan of a job", begun.Counters.Plans/float64(jobs), "", nil)
	b.add("processor time of the operator for a job until it runs", begun.CPU.Seconds()/float64(jobs), "s", nil)
	b.add("processor time of the simulated agents for a job", (ownCPU()-simulator).Seconds()/float64(jobs), "s", nil)
	return nil
}

// training measures a while in which nothing happens but steps.
func (b *fleetBench) training(ctx context.Context) error {
	before, err := b.fleet.Counters(ctx)
	if err != nil {
		return err
	}
	usage, err := b.fleet.Usage()
	if err != nil {
		return err
	}
	server, polls, simulator := b.fleet.UsageOf("kube-apiserver"), b.fleet.Agents.Requests(), ownCPU()
	select {
	case <-time.After(lengthOfTraining):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	seconds := lengthOfTraining.Seconds()
	after, err := b.fleet.Counters(ctx)
	if err != nil {
		return err
	}
	now, err := b.fleet.Usage()
	if err != nil {
		return err
	}
	counters, jobs := after.Since(before), b.fleet.Jobs.InState("Running")
	name := fmt.Sprintf("%d jobs train: ", jobs)
	b.add(name+"processors of the operator", (now.CPU-usage.CPU).Seconds()/seconds, "", nil)
	b.add(name+"processors of the API server", (b.fleet.UsageOf("kube-apiserver")-server).Seconds()/seconds, "", nil)
	b.add(name+"processors of the simulated agents", (ownCPU()-simulator).Seconds()/seconds, "", nil)
	b.add(name+"writes a second", counters.Writes()/seconds, "", nil)
	b.add(name+"passes a second", counters.Passes/seconds, "", nil)
	b.add(name+"requests to agents a second", float64(b.fleet.Agents.Requests()-polls)/seconds, "", nil)
	b.add(name+"resident memory of the operator", float64(now.Now)/1e6, "MB", nil)
	return nil
}

func (b *fleetBench) notices(ctx context.Context) error {
	return b.notice(ctx, b.first, b.size.jobs, noticeSecondsMany)
}

func (b *fleetBench) memory(context.Context) error {
	usage, err := b.fleet.Usage()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("operator with %d jobs, %d pods and %d foreign pods: ", b.size.jobs, b.size.jobs*fleet.PodsOfJob, b.size.foreign)
	b.add(name+"peak memory", float64(usage.Peak)/1e6, "MB", atMost(peakMegabytes))
	b.add(name+"processor time since its start", usage.CPU.Seconds(), "s", nil)
	return nil
}

func (b *fleetBench) coldStart(ctx context.Context) error {
	took, err := b.fleet.ColdStart(ctx)
	if err != nil {
		return err
	}
	b.add("cold start until every agent was asked", took.Seconds(), "s", atMost(coldStartSeconds))
	usage, err := b.fleet.Usage()
	b.add("cold start: peak memory", float64(usage.Peak)/1e6, "MB", atMost(peakMegabytes))
	return err
}

func ownCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it cannot fail with these arguments
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
