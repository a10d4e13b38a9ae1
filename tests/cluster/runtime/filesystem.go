package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// enterNewContainer gives the calling thread the namespaces and the file system of a new container, in which only
// a /proc of its own is missing (see sailor-container-init). All of it disappears with the last process in it.
func (r *processRuntime) enterNewContainer(c *container, mounts []*runtimeapi.Mount) error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Sethostname([]byte(c.sandbox.config.Hostname)); err != nil {
		return err
	}
	root, err := buildRoot(r.scratch(c), c.image.Root, r.spec.HostPaths)
	if err != nil {
		return err
	}
	// The volumes are taken hold of in the host's tree and put down in the container's, where links lead to the right place.
	volumes, err := openVolumes(mounts)
	defer closeVolumes(volumes)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Chdir(root), unix.PivotRoot(".", "."), unix.Unmount(".", unix.MNT_DETACH), unix.Chdir("/")); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	for i, m := range mounts {
		if err := attachVolume(volumes[i], m); err != nil {
			return fmt.Errorf("mount %s: %w", m.ContainerPath, err)
		}
	}
	return nil
}

// rootBuilder does one thing after the other until one fails.
type rootBuilder struct {
	scratch, root string
	err           error
}

func (b *rootBuilder) do(what string, f func() error) {
	if b.err != nil {
		return
	}
	if err := f(); err != nil {
		b.err = fmt.Errorf("making a container's file system: %s: %w", what, err)
	}
}

func (b *rootBuilder) mount(source, target, fstype string, flags uintptr, data string) {
	b.do("mount "+target, func() error { return unix.Mount(source, target, fstype, flags, data) })
}

func (b *rootBuilder) mkdir(dir string) {
	b.do("mkdir "+dir, func() error { return os.MkdirAll(dir, 0o755) })
}

// buildRoot makes the root directory of a container under scratch: that of its image, or if that has none, one like the host's.
func buildRoot(scratch, image string, hostPaths []string) (string, error) {
	b := &rootBuilder{scratch: scratch, root: filepath.Join(scratch, "root")}
	b.mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	b.mkdir(scratch)
	b.mount("tmpfs", scratch, "tmpfs", 0, "mode=0755")
	if image != "" {
		b.overlay(image, b.root, "image")
	} else {
		b.copyHost()
	}
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		b.mkdir(b.root + dir)
	}
	b.mount("/sys", b.root+"/sys", "", unix.MS_BIND|unix.MS_REC, "")
	b.mount("/proc", b.root+"/proc", "", unix.MS_BIND|unix.MS_REC, "") // without root, a new /proc may only be mounted over an existing one
	b.makeDev()
	if image != "" {
		return b.root, b.err
	}
	b.mount("tmpfs", b.root+"/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	for i, path := range hostPaths {
		b.overlay(path, filepath.Join(b.root, path), fmt.Sprintf("host-path-%d", i))
	}
	return b.root, b.err
}

// copyHost puts each of the host's directories under a writable layer in memory, but leaves /dev, /tmp and /run empty. (Without root,
// one layer over all of / is not allowed.)
func (b *rootBuilder) copyHost() {
	b.mkdir(b.root)
	b.mount(b.root, b.root, "", unix.MS_BIND, "") // pivot_root wants a mount point
	entries, err := os.ReadDir("/")
	b.do("list /", func() error { return err })
	for _, entry := range entries {
		b.copyEntry(entry)
	}
}

// copyEntry makes an entry of / in the new root.
func (b *rootBuilder) copyEntry(entry fs.DirEntry) {
	source, target := "/"+entry.Name(), filepath.Join(b.root, entry.Name())
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		b.do("link "+source, func() error {
			link, err := os.Readlink(source)
			return errors.Join(err, os.Symlink(link, target))
		})
	case !entry.IsDir() || slices.Contains([]string{"boot", "lost+found"}, entry.Name()):
	case slices.Contains([]string{"dev", "proc", "run", "sys", "tmp"}, entry.Name()):
		b.mkdir(target)
	default:
		b.overlay(source, target, entry.Name())
	}
}

func (b *rootBuilder) overlay(source, target, name string) {
	upper, work := filepath.Join(b.scratch, "upper", name), filepath.Join(b.scratch, "work", name)
	b.mkdir(target)
	b.mkdir(upper)
	b.mkdir(work)
	b.do("overlay "+target, func() error {
		err := unix.Mount("overlay", target, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,userxattr", source, upper, work))
		if err == unix.EINVAL { // the source contains other mounts, and we are not root
			err = unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, "")
		}
		return err
	})
}

func (b *rootBuilder) makeDev() {
	b.mount("tmpfs", b.root+"/dev", "tmpfs", unix.MS_NOSUID, "mode=0755")
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		b.do("create /dev/"+name, func() error { return os.WriteFile(b.root+"/dev/"+name, nil, 0o666) })
		b.mount("/dev/"+name, b.root+"/dev/"+name, "", unix.MS_BIND, "")
	}
	for name, target := range map[string]string{"fd": "", "stdin": "0", "stdout": "1", "stderr": "2"} {
		b.do("link /dev/"+name, func() error {
			return os.Symlink(filepath.Join("/proc/self/fd", target), b.root+"/dev/"+name)
		})
	}
	b.mkdir(b.root + "/dev/shm")
	b.mount("tmpfs", b.root+"/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
}
