package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sailor.dev/tests/cluster/process"
	"sailor.dev/tests/cluster/testcluster"
	"sailor.dev/tests/installation"
)

// Counters are what the operator counts itself.
type Counters struct {
	Requests map[string]float64 // to the API server, by method; a watch is WATCH
	Passes   float64            // over jobs
	Waiting  float64            // jobs in the queue
	Started  time.Time          // the process
	Plans    float64            // searches for a plan
}

// Sum is the number of requests of these methods; without any, of all methods.
func (c Counters) Sum(methods ...string) (sum float64) {
	for method, count := range c.Requests {
		for _, wanted := range methods {
			if method == wanted {
				sum += count
			}
		}
		if len(methods) == 0 {
			sum += count
		}
	}
	return sum
}

// Since is what has been counted since an earlier look.
func (c Counters) Since(before Counters) Counters {
	difference := Counters{Requests: map[string]float64{}, Passes: c.Passes - before.Passes, Waiting: c.Waiting, Started: c.Started, Plans: c.Plans - before.Plans}
	for method, count := range c.Requests {
		difference.Requests[method] = count - before.Requests[method]
	}
	return difference
}

// Counters asks the operator.
func (f *Fleet) Counters(ctx context.Context) (c Counters, err error) {
	pods, err := f.client.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return c, err
	}
	if len(pods.Items) != 1 {
		return c, fmt.Errorf("the operator has %d running pods", len(pods.Items))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pods.Items[0].Status.PodIP+":9090/metrics", nil)
	if err != nil {
		return c, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return c, err
	}
	defer response.Body.Close()
	c.Requests = map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		c.read(lines.Text())
	}
	return c, lines.Err()
}

func (c *Counters) read(line string) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 || strings.HasPrefix(line, "#") {
		return
	}
	value, err := strconv.ParseFloat(line[at+1:], 64)
	if err != nil {
		return
	}
	name, labels, _ := strings.Cut(line[:at], "{")
	switch name {
	case "rest_client_requests_total":
		_, method, _ := strings.Cut(labels, `method="`)
		method, _, _ = strings.Cut(method, `"`)
		c.Requests[method] += value
	case "controller_runtime_reconcile_total":
		c.Passes += value
	case "workqueue_depth":
		c.Waiting += value
	case "sailor_plan_seconds_count":
		c.Plans += value
	case "process_start_time_seconds":
		c.Started = time.UnixMilli(int64(value * 1000))
	}
}

// Usage is what the kernel has counted of a process.
type Usage struct {
	CPU  time.Duration
	Peak int64 // bytes of resident memory
	Now  int64
}

// Usage returns that of the operator's process.
func (f *Fleet) Usage() (Usage, error) {
	program, err := operatorProgram()
	if err != nil {
		return Usage{}, err
	}
	tree, err := process.Tree(f.Cluster.PID)
	if err != nil {
		return Usage{}, err
	}
	for _, pid := range tree {
		folder := filepath.Join("/proc", strconv.Itoa(pid))
		if executable, err := os.Readlink(filepath.Join(folder, "exe")); err == nil && executable == program {
			return usageIn(folder)
		}
	}
	return Usage{}, errors.New("the operator does not run")
}

// UsageOf returns the processor time of the processes of the cluster whose command line contains the word.
func (f *Fleet) UsageOf(word string) (cpu time.Duration) {
	tree, _ := process.Tree(f.Cluster.PID) // without a tree there is nothing to add up
	for _, pid := range tree {
		folder := filepath.Join("/proc", strconv.Itoa(pid))
		arguments, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || !strings.Contains(string(arguments), word) {
			continue
		}
		if usage, err := usageIn(folder); err == nil {
			cpu += usage.CPU
		}
	}
	return cpu
}

const ticksPerSecond = 100 // of the times in /proc, on every Linux

func usageIn(folder string) (usage Usage, err error) {
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return usage, err
	}
	usage.Peak, usage.Now = kilobytesIn(string(status), "VmHWM:"), kilobytesIn(string(status), "VmRSS:")
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return usage, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return usage, fmt.Errorf("reading %s/stat: %q", folder, stat)
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // the kernel writes numbers
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	usage.CPU = time.Duration(user+system) * time.Second / ticksPerSecond
	return usage, nil
}

func kilobytesIn(status, name string) int64 {
	_, rest, _ := strings.Cut(status, name)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	size, _ := strconv.ParseInt(fields[0], 10, 64)
	return size * 1024
}

// Scale sets the number of the operator's replicas, and waits until there are as many.
func (f *Fleet) Scale(ctx context.Context, replicas int) error {
	if _, err := f.Cluster.Kubectl(ctx, "-n", installation.Namespace, "scale", "deployment/sailor", fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	return testcluster.Await(ctx, "the operator's pods", func(ctx context.Context) (bool, error) {
		pods, err := f.client.CoreV1().Pods(installation.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) != replicas {
			return false, err
		}
		if replicas == 0 {
			return true, nil
		}
		deployment, err := f.client.AppsV1().Deployments(installation.Namespace).Get(ctx, "sailor", metav1.GetOptions{})
		return err == nil && int(deployment.Status.ReadyReplicas) == replicas, err
	})
}
