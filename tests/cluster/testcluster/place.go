package testcluster

import (
	"errors"
	"os"
	"path/filepath"
)

// RepositoryRoot is the folder above the working directory that holds the file tests/go.mod.
func RepositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tests", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the working directory is not inside the repository: no folder above it holds tests/go.mod")
		}
		dir = parent
	}
}

// GKE is the configuration file of the cluster that the demo uses.
func GKE() (string, error) {
	root, err := RepositoryRoot()
	return filepath.Join(root, "tests", "cluster", "gke.yaml"), err
}
