package runtime

import (
	"fmt"
	"syscall"
)

// imageUser is the user and the group that every image claims, so that pods that must not run as root are admitted. The processes
// of an image without a file system of its own still run as the user who runs the cluster: other users may not be able to read the
// programs, and without root it is impossible to run as another user.
const imageUser = 65532

// user is who the processes of a container are.
type user struct {
	id, group uint32
	groups    []uint32
}

// userOf is the user that the container asks for, or else its image.
func userOf(c *container) user {
	security := c.config.GetLinux().GetSecurityContext()
	u := user{id: uint32(security.GetRunAsUser().GetValue()), group: uint32(security.GetRunAsGroup().GetValue())}
	switch {
	case u.id != imageUser:
	case c.image.Root == "":
		u.id = 0
	case security.GetRunAsGroup() == nil:
		u.group = imageUser
	}
	for _, group := range security.GetSupplementalGroups() {
		u.groups = append(u.groups, uint32(group))
	}
	return u
}

// String is UID:GID[:GROUP...], as sailor-container-init takes it.
func (u user) String() string {
	text := fmt.Sprintf("%d:%d", u.id, u.group)
	for _, group := range u.groups {
		text += fmt.Sprintf(":%d", group)
	}
	return text
}

func (u user) home() string {
	if u.id == 0 {
		return "/root"
	}
	return "/"
}

// credential makes another process in the container this user. Nil: it needs no change.
func (u user) credential() *syscall.Credential {
	if u.String() == "0:0" {
		return nil
	}
	return &syscall.Credential{Uid: u.id, Gid: u.group, Groups: u.groups}
}
