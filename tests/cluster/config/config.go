// Package config reads the file that describes a local cluster.
package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Config is what `sailor-cluster up --config FILE` reads.
type Config struct {
	// Root is what the relative paths of this file start from; it is itself relative to the folder of the file, which it
	// is where it is left out. Where it is given, containers see it as one of HostPaths.
	Root string `json:"root,omitempty"`
	// Network contains the loopback addresses in use, such as 127.77.0.0/16. If it is absent, a free one is taken.
	//   127.77.0.0/24  cluster IPs; 127.77.0.1 is the API server (and so the service "kubernetes")
	//   127.77.N.1     the kubelet of the Nth machine; 127.77.N.2 and up its pods
	Network string `json:"network,omitempty"`
	// Port is the port of the API server. If it is absent: 443 as in the service "kubernetes", or 6443 if the user may not use 443.
	Port      int        `json:"port,omitempty"`
	NodePools []NodePool `json:"nodePools,omitempty"`
	// Autoscaler has the times of the autoscaler for the pools that have a maxCount.
	Autoscaler Autoscaler `json:"autoscaler,omitzero"`
	Images     []Image    `json:"images,omitempty"`
	// HostPaths are folders that containers see at the same place. They see all folders of / but /tmp, /run and what is
	// mounted below others; these make up for that. What containers write there is lost with them.
	HostPaths []string `json:"hostPaths,omitempty"`
	// WorkerShare is the part of a processor that a worker uses, which is a process that the first process of a container has
	// started. Where the shares of all workers add up to less than the machine's processors, no worker gets faster because another
	// one is slow. If the share is absent, workers run all the time.
	WorkerShare float64 `json:"workerShare,omitempty"`
	// Args are further arguments of a component: {"kube-controller-manager": ["--node-monitor-grace-period=20s"]}.
	Args map[string][]string `json:"args,omitempty"`
}

// Load reads, completes and checks a configuration file.
func Load(file string) (Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("reading the cluster's configuration: %w", err)
	}
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return Config{}, err
	}
	config, err := Parse(text, folder)
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", file, err)
	}
	return config, nil
}

// Parse is Load of a text whose file would be in the folder.
func Parse(text []byte, folder string) (Config, error) {
	var config Config
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		return config, err
	}
	config.complete(folder)
	return config, config.check()
}

// Write stores the configuration where Load can read it.
func (c Config) Write(file string) error {
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// Share is WorkerShare, or 1 if it is absent.
func (c Config) Share() float64 {
	if c.WorkerShare == 0 {
		return 1
	}
	return c.WorkerShare
}

// complete makes paths absolute and fills in defaults.
func (c *Config) complete(folder string) {
	if c.Root != "" && !slices.Contains(c.HostPaths, c.Root) {
		c.HostPaths = append(c.HostPaths, ".")
	}
	c.Root = absolute(c.Root, folder)
	for i := range c.HostPaths {
		c.HostPaths[i] = absolute(c.HostPaths[i], c.Root)
	}
	for i := range c.Images {
		c.Images[i].complete(c.Root)
	}
	for i := range c.NodePools {
		c.NodePools[i].complete()
	}
	if c.Autoscales() || c.Autoscaler != (Autoscaler{}) {
		c.Autoscaler.complete()
	}
}

// absolute returns a path that starts from the folder.
func absolute(path, folder string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}
