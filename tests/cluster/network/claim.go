package network

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
)

// Claim is a network that no other cluster of this machine uses while the claim is open.
type Claim struct {
	Network string // the first two numbers of its addresses, which all have four
	lock    net.Listener
}

// NewClaim takes the wanted network, such as 127.77.0.0/16, or, if that is empty, a free one.
func NewClaim(wanted string) (*Claim, error) {
	if wanted != "" {
		return claim(strings.TrimSuffix(wanted, ".0.0/16"))
	}
	for second := 100; second < 200; second++ {
		c, err := claim(fmt.Sprintf("127.%d", second))
		if !errors.Is(err, errTaken) {
			return c, err
		}
	}
	return nil, errors.New("all networks from 127.100.0.0/16 to 127.199.0.0/16 are in use by local clusters: stop some")
}

var errTaken = errors.New("in use by another local cluster")

// claim locks the network with an abstract socket, which the kernel frees when this process ends, whatever way.
func claim(network string) (*Claim, error) {
	lock, err := net.Listen("unix", "@sailor-cluster-network-"+network)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("network %s.0.0/16 is %w: stop it, or choose another network", network, errTaken)
	}
	if err != nil {
		return nil, fmt.Errorf("claiming network %s: %w", network, err)
	}
	return &Claim{network, lock}, nil
}

// Close releases the network.
func (c *Claim) Close() { c.lock.Close() }

// ServerPort returns the port for the API server: wanted, or 443 as in the service "kubernetes", or 6443 if the user may
// not use 443.
func (c *Claim) ServerPort(wanted int) int {
	if wanted != 0 {
		return wanted
	}
	listener, err := net.Listen("tcp", c.Network+".0.1:443")
	if errors.Is(err, fs.ErrPermission) {
		return 6443
	}
	if err == nil {
		listener.Close()
	}
	return 443
}
