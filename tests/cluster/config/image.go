package config

import "strings"

// Image says what runs for the images whose name matches Name, in which * stands for any text.
// An image that no entry matches has no entrypoint and the default PATH.
type Image struct {
	Name       string            `json:"name"`
	Path       []string          `json:"path,omitempty"`       // folders put before the default PATH
	Entrypoint []string          `json:"entrypoint,omitempty"` // the program of containers without a command; one with a slash is a path
	Env        map[string]string `json:"env,omitempty"`        // variables that the pod does not set itself
	// Root is a folder with the image's own file system, which containers see instead of this machine's folders, as the user
	// they ask for. It needs root.
	Root string `json:"root,omitempty"`
}

// FindImage is the first entry that matches the name of an image.
func FindImage(images []Image, name string) Image {
	for _, image := range images {
		if matches(image.Name, name) {
			return image
		}
	}
	return Image{}
}

// matches tells whether a text fits a pattern. (path.Match is not for images: its * ends at a slash.)
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	first, rest := parts[0], parts[1:]
	text, found := strings.CutPrefix(text, first)
	if !found || len(rest) == 0 {
		return found && text == ""
	}
	last := rest[len(rest)-1]
	for _, part := range rest[:len(rest)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}

// complete makes paths absolute. Those of an image with a file system of its own are paths in it.
func (i *Image) complete(root string) {
	if i.Root != "" {
		i.Root = absolute(i.Root, root)
		return
	}
	for j := range i.Path {
		i.Path[j] = absolute(i.Path[j], root)
	}
	if len(i.Entrypoint) > 0 && strings.Contains(i.Entrypoint[0], "/") {
		i.Entrypoint[0] = absolute(i.Entrypoint[0], root)
	}
}
