//go:build long

package images

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// makeImages builds the images from the sources with the Dockerfile, and returns the folder in which their file systems lie. Other tests
// run meanwhile, so the compilers give way to them.
func makeImages(root string, images ...string) (string, error) {
	folder := filepath.Join(root, "build", "dockerfile-images")
	arguments := append([]string{"-n", "19", filepath.Join(root, "tests", "images", "build.sh"), folder}, images...)
	if output, err := exec.Command("nice", arguments...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the images: %w: %s", err, output)
	}
	return folder, nil
}

func TestTheDockerfileStartsTheProgramOfAnImageAsItsUser(t *testing.T) {
	for image, program := range map[string]string{operator: "/usr/local/bin/sailor-operator", trainer: "/usr/local/bin/sailor-trainer"} {
		var config struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
		text, err := os.ReadFile(rootOf(t, image) + ".json")
		if err == nil {
			err = json.Unmarshal(text, &config)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if config.User != "65532:65532" || !slices.Equal(config.Entrypoint, []string{program}) {
			t.Errorf("%s runs %v as %s", image, config.Entrypoint, config.User)
		}
		if revision := config.Labels["org.opencontainers.image.revision"]; len(revision) != 40 {
			t.Errorf("%s is of the revision %q", image, revision)
		}
	}
}
