package atomicfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/goestimator/goestimator/internal/platform/failpoint"
)

var fpMade = failpoint.New("atomicfile/directory-durable")

// MkdirAll makes a directory and its missing parents. Each new one is durable
// when it returns, so that files written below it are not lost with its name.
func MkdirAll(fsys FS, name string) error {
	name = filepath.Clean(name)
	err := fsys.Mkdir(name)
	if parent := filepath.Dir(name); parent != name && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		if err := MkdirAll(fsys, parent); err != nil {
			return err
		}
		err = fsys.Mkdir(name)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// If directories may be made but not listed, they cannot be synced either.
	if err := SyncDir(fsys, filepath.Dir(name)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fpMade.Here()
}
