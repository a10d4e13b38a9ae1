package kubelet

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sailor.dev/tests/cluster/node"
)

// mountProc shows the processes of our PID namespace in /proc: with the host's, numbers would mean others.
func mountProc() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

// mountRoot gives the kubelet's folder a short name, which only this mount namespace knows: the kubelet makes a socket
// in it, and a socket's path may have 107 bytes wherever the cluster's folder is.
func mountRoot(spec node.Spec) (string, error) {
	place, err := unusedFolder()
	if err != nil {
		return "", err
	}
	root, onDisk := filepath.Join(place, "kubelet"), spec.File("kubelet")
	sockets := filepath.Join(root, "pod-resources")
	err = steps(
		func() error { return os.MkdirAll(onDisk, 0o750) },
		func() error { return unix.Mount("tmpfs", place, "tmpfs", 0, "mode=0755") },
		func() error { return os.Mkdir(root, 0o750) },
		func() error { return unix.Mount(onDisk, root, "", unix.MS_BIND|unix.MS_REC, "") },
		// The kubelet wants it shared. If it had to see to that itself, it would cover the next mount.
		func() error { return unix.Mount("", root, "", unix.MS_SHARED|unix.MS_REC, "") },
		func() error { return os.MkdirAll(sockets, 0o750) },
		func() error { return unix.Mount("tmpfs", sockets, "tmpfs", 0, "mode=0750") }) // sockets end with us
	if err != nil {
		return "", fmt.Errorf("mounting the kubelet's folder at %s: %w", root, err)
	}
	return root, nil
}

// unusedFolder finds a folder of / that neither kubelet nor containers need, to mount over it.
func unusedFolder() (string, error) {
	folders := []string{"/boot", "/media", "/mnt", "/srv"}
	for _, folder := range folders {
		if info, err := os.Lstat(folder); err == nil && info.IsDir() {
			return folder, nil
		}
	}
	return "", fmt.Errorf("the kubelet needs one of the folders %v to mount over (it is not changed): %w", folders, fs.ErrNotExist)
}

// steps does one after the other until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
