package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Components are the names that may stand in Args.
var Components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

func (c Config) check() error {
	if c.Network != "" && !isLoopback(c.Network) {
		return fmt.Errorf("network %q is not a block of 65536 loopback addresses; write one such as 127.77.0.0/16", c.Network)
	}
	if share := c.Share(); !(share > 0 && share <= 1) {
		return fmt.Errorf("workerShare %g is not a part of a processor; write one such as 0.4", share)
	}
	for component := range c.Args {
		if !slices.Contains(Components, component) {
			return fmt.Errorf("args: there is no component %q; there are %s", component, strings.Join(Components, ", "))
		}
	}
	seen := map[string]bool{}
	for i, pool := range c.NodePools {
		if err := pool.check(); err != nil {
			return fmt.Errorf("nodePools[%d] (%s): %w", i, pool.Name, err)
		}
		if seen[pool.Name] {
			return fmt.Errorf("nodePools[%d]: there are two pools named %s; rename one", i, pool.Name)
		}
		seen[pool.Name] = true
	}
	if c.Autoscaler != (Autoscaler{}) {
		if err := c.Autoscaler.check(); err != nil {
			return fmt.Errorf("autoscaler: %w", err)
		}
	}
	return nil
}

func isLoopback(network string) bool {
	prefix, err := netip.ParsePrefix(network)
	return err == nil && prefix.Addr().Is4() && prefix.Addr().IsLoopback() && prefix.Bits() == 16 && prefix == prefix.Masked()
}

func (p NodePool) check() error {
	if problems := validation.IsDNS1123Label(p.Name); len(problems) > 0 {
		return fmt.Errorf("the name cannot be part of a node's: %s", problems[0])
	}
	if p.Count < 0 || p.GPUs < 0 || p.CPU < 1 {
		return fmt.Errorf("count (%d) and gpus (%d) must not be negative, cpu (%d) must be at least 1", p.Count, p.GPUs, p.CPU)
	}
	if p.Autoscales() && p.MaxCount < p.Count {
		return fmt.Errorf("maxCount (%d) must not be less than count (%d), which is the minimum; leave it out for a pool of a fixed size", p.MaxCount, p.Count)
	}
	if (p.GPUs > 0) != (p.Accelerator != "") {
		return fmt.Errorf("gpus (%d) and accelerator (%q) go together: set both or none", p.GPUs, p.Accelerator)
	}
	if _, err := resource.ParseQuantity(p.Memory); err != nil {
		return fmt.Errorf("memory %q is not a quantity; write one such as 16Gi", p.Memory)
	}
	if grace, err := time.ParseDuration(p.ShutdownGracePeriod); err != nil || grace < 0 {
		return fmt.Errorf("shutdownGracePeriod %q is not a duration; write one such as 15s", p.ShutdownGracePeriod)
	}
	if period, err := time.ParseDuration(p.SyncFrequency); err != nil || period <= 0 {
		return fmt.Errorf("syncFrequency %q is not a duration above zero; write one such as 1m", p.SyncFrequency)
	}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	for _, taint := range p.Taints {
		if taint.Key == "" || !slices.Contains(effects, taint.Effect) {
			return fmt.Errorf("taint %q needs a key and an effect out of %v, it has %q", taint.Key, effects, taint.Effect)
		}
	}
	return nil
}
