package worker

import (
	"fmt"
	"io/fs"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// folders are the folders in which ops may read and write checkpoints.
type folders []*atomicfile.Root

// of returns the folder that contains a path.
func (f folders) of(path string) (atomicfile.FS, error) {
	for _, r := range f {
		if r.Holds(path) {
			return r, nil
		}
	}
	if len(f) == 0 {
		return nil, fmt.Errorf("file %q: %w: this server reads and writes no files; --allow-path DIR names a folder for them", path, fs.ErrPermission)
	}
	var dirs []string
	for _, r := range f {
		dirs = append(dirs, r.Dir())
	}
	return nil, fmt.Errorf("file %q: %w: --allow-path allows %q", path, fs.ErrPermission, dirs)
}

// bundle opens a checkpoint.
func (f folders) bundle(prefix string) (*bundle.Reader, error) {
	fsys, err := f.of(prefix)
	if err != nil {
		return nil, err
	}
	return bundle.Open(fsys, prefix)
}
