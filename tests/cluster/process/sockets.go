package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SocketFolder is a folder in memory that is mounted nowhere: only holders of its descriptor can reach it.
// Its sockets have short names wherever the cluster's data is (a socket's path may have 107 bytes). It ends with its holders.
type SocketFolder struct{ File *os.File }

// NewSocketFolder makes an empty folder.
func NewSocketFolder() (SocketFolder, error) {
	context, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return SocketFolder{}, fmt.Errorf("making a file system for sockets: %w", err)
	}
	defer unix.Close(context)
	if err := unix.FsconfigSetString(context, "mode", "0700"); err != nil {
		return SocketFolder{}, fmt.Errorf("making a file system for sockets: %w", err)
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return SocketFolder{}, fmt.Errorf("making a file system for sockets: %w", err)
	}
	root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return SocketFolder{}, fmt.Errorf("making a file system for sockets: %w", err)
	}
	return SocketFolder{os.NewFile(uintptr(root), "sockets")}, nil
}

// Path names a socket for this process.
func (s SocketFolder) Path(name string) string { return socketPath(int(s.File.Fd()), name) }

// PathInChild names a socket for a child whose Command.Files begins with File.
func (s SocketFolder) PathInChild(name string) string { return socketPath(3, name) }

func socketPath(descriptor int, name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", descriptor, name)
}
