//go:build unix

package estimator

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// flock is replaced by tests of file systems without locks.
var flock = unix.Flock

// lockDir makes this process the only one that trains in dir, until the file
// that it returns is closed or the process ends, however it ends. The file is nil
// where files cannot be locked: users must coordinate training there.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, ".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	err = flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		f.Close()
		return nil, fmt.Errorf("%w: process %s: stop it, or choose another model_dir", ErrLocked, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		return nil, f.Close()
	}
	if err := nameHolder(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	return f, nil
}

// nameHolder writes the id of this process into its lock, for a person who finds the
// folder locked. A folder where this write fails cannot hold a checkpoint either.
func nameHolder(f interface {
	io.Writer
	Truncate(size int64) error
}) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return err
}
