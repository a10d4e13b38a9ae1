// Package control is how other programs speak to a running `sailor-cluster up`: HTTP with JSON over a Unix socket.
package control

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// ErrRunning says that the socket is taken.
var ErrRunning = errors.New("a cluster runs")

// socketName makes an abstract address out of a folder. The kernel gives it to one process at a time and forgets it
// when that ends, whatever way, so that it is the cluster's lock too. Its length does not depend on the folder's.
func socketName(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return fmt.Sprintf("@sailor-cluster-%x", sha256.Sum256([]byte(dir))), nil
}

// Listen takes the socket of a folder that exists; ErrRunning if another process has it.
func Listen(dir string) (net.Listener, error) {
	name, err := socketName(dir)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", name)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w in %s already: stop it with `sailor-cluster down --dir %s` or choose another folder", ErrRunning, dir, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("listening for commands: %w", err)
	}
	return ownersOnly{listener}, nil
}

// ownersOnly turns away other users, from whom an abstract address does not protect.
type ownersOnly struct{ net.Listener }

func (l ownersOnly) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || isOwner(conn.(*net.UnixConn)) {
			return conn, err
		}
		conn.Close()
	}
}

func isOwner(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	owner := false
	err = raw.Control(func(fd uintptr) {
		peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		owner = err == nil && (int(peer.Uid) == os.Geteuid())
	})
	return err == nil && owner
}
