//go:build !long

package images

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// makeImages makes the file systems of the images from the programs that are built already, with the script that the Dockerfile uses,
// and returns the folder in which they lie.
func makeImages(root string, images ...string) (string, error) {
	folder := filepath.Join(root, "build", "images")
	for _, image := range images {
		command := exec.Command(filepath.Join(root, "docker", "image_root.py"), filepath.Join(root, "build", "dev"), image, filepath.Join(folder, image))
		if output, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("making the image %s: %w: %s", image, err, output)
		}
	}
	return folder, nil
}
