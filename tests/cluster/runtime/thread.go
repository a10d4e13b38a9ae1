package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// initInContainer is the path at which a container sees the program sailor-container-init for a moment.
const initInContainer = "/.sailor-container-init"

// findInit finds that program beside ours.
func findInit() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	file := filepath.Join(filepath.Dir(self), "sailor-container-init")
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("the program that starts containers is not beside %s: run scripts/build_cluster.sh (%w)", self, err)
	}
	return file, nil
}

// runOnThread runs the command from an OS thread of its own, on which enter has been called first.
// Namespaces belong to threads, and the parent-death signal comes when the parent *thread* ends: this one lives until
// the command has ended (the goroutine never unlocks it, so Go ends it then). started receives the result of the start.
func runOnThread(cmd *exec.Cmd, enter func() error, started func(error)) error {
	ended := make(chan error, 1)
	go func() {
		goruntime.LockOSThread()
		err := enter()
		if err == nil {
			err = cmd.Start()
		}
		started(err)
		if err == nil {
			err = cmd.Wait()
		}
		ended <- err
	}()
	return <-ended
}

// lookPath finds a program in the file system of the calling thread.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(getenv(env, "PATH")) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%q: executable file not found in $PATH", name)
}

func getenv(env []string, name string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// enterContainer moves the calling thread into the namespaces of a running container.
func enterContainer(pid int) error {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // otherwise the kernel refuses to change the mount namespace of one thread
		return err
	}
	return unix.Setns(pidfd, unix.CLONE_NEWNS|unix.CLONE_NEWPID|unix.CLONE_NEWUTS|unix.CLONE_NEWIPC)
}
