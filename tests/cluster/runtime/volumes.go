package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// openVolumes takes hold of the mounts' sources, in whatever tree the calling thread is.
func openVolumes(mounts []*runtimeapi.Mount) ([]int, error) {
	var volumes []int
	for _, m := range mounts {
		fd, err := unix.OpenTree(unix.AT_FDCWD, m.HostPath, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return volumes, fmt.Errorf("volume %s: %w", m.HostPath, err)
		}
		volumes = append(volumes, fd)
	}
	return volumes, nil
}

func closeVolumes(volumes []int) {
	for _, fd := range volumes {
		unix.Close(fd)
	}
}

// attachVolume puts an open volume down at its place.
func attachVolume(volume int, m *runtimeapi.Mount) error {
	if err := makeMountPoint(volume, m.ContainerPath); err != nil {
		return err
	}
	if m.Readonly {
		readonly := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(volume, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, readonly); err != nil {
			return err
		}
	}
	return unix.MoveMount(volume, "", unix.AT_FDCWD, m.ContainerPath, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// makeMountPoint makes a folder or file, as the volume is one.
func makeMountPoint(volume int, path string) error {
	var info unix.Stat_t
	if err := unix.Fstat(volume, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}
