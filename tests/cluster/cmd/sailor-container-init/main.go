// sailor-container-init is the first process of a container until it becomes the container's command: it mounts /proc,
// which only a process inside the new PID namespace can do, removes itself from the file system, makes that read-only if it
// should be, and becomes the wanted user. It is a program of its own because it starts in a tenth of the time that one linked
// with Kubernetes takes.
//
//	sailor-container-init rw|ro UID:GID[:GROUP...] PROGRAM ARG0 [ARG...]
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "sailor-container-init is started by sailor-cluster only")
		os.Exit(128)
	}
	err := become(os.Args[1] == "ro", os.Args[2], os.Args[3], os.Args[4:])
	fmt.Fprintln(os.Stderr, "starting the container:", err)
	os.Exit(128)
}

// become returns only if it fails.
func become(readOnly bool, user, program string, args []string) error {
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	self := os.Args[0] // a mount that was made for us
	if err := syscall.Unmount(self, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", self, err)
	}
	if err := os.Remove(self); err != nil {
		return err
	}
	if readOnly {
		if err := syscall.Mount("", "/", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("making the file system read-only: %w", err)
		}
	}
	if user != "0:0" {
		if err := changeUser(user); err != nil {
			return fmt.Errorf("becoming user %s: %w", user, err)
		}
	}
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, args, os.Environ()))
}

func changeUser(user string) error {
	var ids []int
	for _, text := range strings.Split(user, ":") {
		id, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := syscall.Setgroups(ids[2:]); err != nil {
		return err
	}
	if err := syscall.Setgid(ids[1]); err != nil {
		return err
	}
	if err := syscall.Setuid(ids[0]); err != nil {
		return err
	}
	// The change of user has cleared the signal with which the container ends when its kubelet does.
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
