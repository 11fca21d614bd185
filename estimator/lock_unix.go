//go:build unix

package estimator

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// flock is replaced by tests of file systems without locks.
var flock = unix.Flock

// lockDir makes this process the only one that trains in dir until the returned file
// is closed or the process ends in any way. The file is nil if files cannot be locked
// there; users must then coordinate training themselves.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := takeLock(path)
	if err != nil || f == nil {
		return nil, err
	}
	if err := held(f); err != nil { // another process has just replaced it
		f.Close()
		return nil, fmt.Errorf("%w: another process has just locked it", ErrLocked)
	}
	if err := nameHolder(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	return f, nil
}

// takeLock locks a file, and creates it first if needed; nil if files cannot be locked.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	err = flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for tries := 0; errors.Is(err, unix.EWOULDBLOCK) && tries < lockTries; tries++ { // InUse may have it for a moment
		time.Sleep(10 * time.Millisecond)
		err = flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		f.Close()
		return nil, fmt.Errorf("%w: process %s: stop it, or choose another model_dir", ErrLocked, strings.TrimSpace(string(holder)))
	}
	if err != nil {
		return nil, f.Close()
	}
	return f, nil
}

// lockTries is the number of retries for a lock that is held.
const lockTries = 3

// InUse reports whether a process trains in a model_dir, on another machine too if the file system has locks. It is
// false if there is no such folder, or if files cannot be locked.
func InUse(modelDir string) (bool, error) {
	f, err := atomicfile.Open(filepath.Join(modelDir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("model_dir: %w", err)
	}
	defer f.Close()
	return errors.Is(flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK), nil
}

// replaceLock is lockDir for a lock that its process has stopped renewing: a new file takes the place of the stale
// one. If several processes try this, one succeeds.
func replaceLock(dir string, stale os.FileInfo) (*os.File, error) {
	next, path := filepath.Join(dir, lockFile+".next"), filepath.Join(dir, lockFile)
	f, err := takeLock(next)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	if err := errors.Join(held(f), nameHolder(f)); err != nil {
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	if now, err := look(path); err != nil || !same(now, stale) {
		return nil, fmt.Errorf("%w: another process has just locked it, or renewed its lock", ErrLocked)
	}
	if err := os.Rename(next, path); err != nil {
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	// The lock stays with the open file, which now has another name.
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("locking model_dir: %w", err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// nameHolder writes the id of this process into its lock, for users who find the folder
// locked. If this write fails, writing a checkpoint would fail, too.
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
