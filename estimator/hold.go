package estimator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// errDeposed is the error of a chief that was stopped for so long that another task of its elastic job took its place.
var errDeposed = fmt.Errorf("%w: another process has taken this task's place as the chief, and has model_dir now: start this task again, to train as a worker", ErrPeerLost)

// lockFile is the file in model_dir that its only writer has locked.
const lockFile = ".lock"

// hold is what a task of an elastic job knows of the lock on model_dir. A stopped process keeps its lock, so a running
// chief renews the lock by changing the file's time, which the other tasks watch.
type hold struct {
	dir string

	mu    sync.Mutex
	lock  *os.File    // this task's lock; nil: it has none
	seen  os.FileInfo // another task's lock file, as last seen
	since time.Time   // when seen changed last
}

// keep records the lock of this task, nil for none.
func (h *hold) keep(lock *os.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lock = lock
}

// Tend is called periodically. It renews this task's lock, or checks whether another task renews its own. The error is
// errDeposed if another task has replaced this task's lock.
func (h *hold) Tend() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock != nil {
		err := held(h.lock)
		if err == nil {
			now := time.Now()
			err = os.Chtimes(h.lock.Name(), now, now)
		}
		if errors.Is(err, errDeposed) {
			return err
		}
		return nil // a failure to renew the lock shows in its time, which the others watch
	}
	info, err := look(filepath.Join(h.dir, lockFile))
	if err == nil && (h.seen == nil || !same(info, h.seen)) {
		h.seen, h.since = info, time.Now()
	}
	return nil
}

// lapsed returns another task's lock that was not renewed for the given time; nil if it was, or if that is not known.
func (h *hold) lapsed(silence time.Duration) os.FileInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil || time.Since(h.since) < silence {
		return nil
	}
	return h.seen
}

// same reports whether a and b are the same lock file, not renewed in between.
func same(a, b os.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }

// look is os.Stat by opening the file. On a network file system that asks the server, where os.Stat may return what was
// cached a minute ago.
func look(path string) (os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// statOpen is replaced by tests of network file systems.
var statOpen = (*os.File).Stat

// held returns errDeposed if another file has taken the lock's place.
func held(lock *os.File) error {
	mine, err := statOpen(lock)
	if errors.Is(err, syscall.ESTALE) { // NFS: another machine has replaced the file, and its server has forgotten this one
		return errDeposed
	}
	if err != nil {
		return fmt.Errorf("lock of model_dir: %w", err)
	}
	now, err := look(lock.Name())
	switch {
	case err == nil && os.SameFile(mine, now):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("lock of model_dir: %w", err)
	}
	return errDeposed
}

// fencedFS lets files be changed only as long as a lock is held. A write that began before another task took the lock
// cannot finish either: that task removes the temporary files.
type fencedFS struct {
	atomicfile.FS
	lock *os.File
}

// OpenFile implements atomicfile.FS.
func (f fencedFS) OpenFile(name string, flag int, perm fs.FileMode) (atomicfile.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) != 0 {
		if err := held(f.lock); err != nil {
			return nil, err
		}
	}
	return f.FS.OpenFile(name, flag, perm)
}

// Rename implements atomicfile.FS.
func (f fencedFS) Rename(oldname, newname string) error {
	if err := held(f.lock); err != nil {
		return err
	}
	return f.FS.Rename(oldname, newname)
}

// Remove implements atomicfile.FS.
func (f fencedFS) Remove(name string) error {
	if err := held(f.lock); err != nil {
		return err
	}
	return f.FS.Remove(name)
}
