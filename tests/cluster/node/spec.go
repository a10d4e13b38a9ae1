// Package node describes one machine of a cluster: it is what the cloud, the kubelet and the container runtime share.
package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sailor.dev/tests/cluster/config"
)

// Spec has everything that a kubelet process needs to know.
type Spec struct {
	Name          string
	Dir           string // the folder of the node
	PKI           string // folder with ca.crt, node-NAME.crt and node-NAME.key
	Network       string
	Subnet        int // the node has NETWORK.SUBNET.0/24
	APIServerPort int
	Pool          config.NodePool
	Images        []config.Image
	HostPaths     []string
}

// IP is the address of the kubelet.
func (s Spec) IP() string { return s.PodIP(1) }

// PodIP is one of the node's addresses.
func (s Spec) PodIP(host int) string { return fmt.Sprintf("%s.%d.%d", s.Network, s.Subnet, host) }

// Certificate is the name under which the node's certificate is issued.
func (s Spec) Certificate() string { return "node-" + s.Name }

// File is one of the node's files.
func (s Spec) File(name string) string { return filepath.Join(s.Dir, name) }

// Write stores the spec for Read.
func (s Spec) Write(file string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

// Read is the opposite of Write.
func Read(file string) (spec Spec, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return spec, err
	}
	err = json.Unmarshal(text, &spec)
	return spec, err
}
