package config

import (
	"fmt"
	"slices"
	"time"
)

// Autoscaler has the times of the cluster autoscaler, which runs if some pool has a MaxCount. The defaults are short, for tests.
type Autoscaler struct {
	// ScanInterval is the time from one look at the pending pods and idle nodes to the next. GKE's is about 10 s.
	ScanInterval Duration `json:"scanInterval,omitempty"`
	// ProvisionTime is how long the cloud takes to start a machine, or to say that it has none. GKE takes one minute or more.
	ProvisionTime Duration `json:"provisionTime,omitempty"`
	// IdleTime is how long a node has no pod before it is removed. GKE waits for 10 minutes.
	IdleTime Duration `json:"idleTime,omitempty"`
	// Backoff is how long a pool is left alone after the cloud had no machine for it. Within the same time, only one event of each
	// reason is written about a pod. Both times are 5 minutes in the real autoscaler.
	Backoff Duration `json:"backoff,omitempty"`
}

// Duration is a text such as "15s". Value is valid once the configuration has been checked.
type Duration string

// Value is zero for a text that is not a duration.
func (d Duration) Value() time.Duration {
	value, _ := time.ParseDuration(string(d))
	return value
}

// Autoscales tells whether a pool may change its size by itself.
func (c Config) Autoscales() bool { return slices.ContainsFunc(c.NodePools, NodePool.Autoscales) }

func (a *Autoscaler) complete() {
	for _, d := range a.durations() {
		if *d.value == "" {
			*d.value = d.fallback
		}
	}
}

func (a *Autoscaler) check() error {
	for _, d := range a.durations() {
		value, err := time.ParseDuration(string(*d.value))
		if err != nil {
			return fmt.Errorf("%s %q is not a duration; write one such as %s", d.name, *d.value, d.fallback)
		}
		if value < 0 || value == 0 && !d.mayBeZero {
			return fmt.Errorf("%s (%s) is too short; write one such as %s", d.name, *d.value, d.fallback)
		}
	}
	return nil
}

type durationField struct {
	name      string
	value     *Duration
	fallback  Duration
	mayBeZero bool
}

func (a *Autoscaler) durations() []durationField {
	return []durationField{
		{"scanInterval", &a.ScanInterval, "1s", false},
		{"provisionTime", &a.ProvisionTime, "2s", true},
		{"idleTime", &a.IdleTime, "60s", true},
		{"backoff", &a.Backoff, "5s", false},
	}
}
