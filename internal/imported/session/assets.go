package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// openAsset opens a file of a model. No link may lead out of its directory, and only regular files are read, which end.
func openAsset(dir, path string) (io.ReadCloser, error) {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: expected a file, got %v", name, info.Mode())
	}
	return root.Open(name)
}
