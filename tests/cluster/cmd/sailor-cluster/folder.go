package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// marker is a file by which a folder is known as a cluster's.
const marker = ".sailor-cluster"

// prepareFolder makes the folder that of a cluster. A folder with other contents is refused, because the cluster empties it.
func prepareFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the cluster's folder: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("the folder %s holds %s, which is not a cluster's: choose an empty or a new one", dir, entries[0].Name())
	}
	return dir, os.WriteFile(filepath.Join(dir, marker), []byte("a local cluster's data, emptied by the next `sailor-cluster up`\n"), 0o600)
}

// emptyFolder removes what an earlier cluster left for its user to look at.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == marker {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("removing an earlier cluster's data: %w", err)
		}
	}
	return nil
}
