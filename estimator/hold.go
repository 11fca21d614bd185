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

// errDeposed is the error of a chief that stood still for so long that another task of its elastic job took its place.
var errDeposed = fmt.Errorf("%w: another process has taken this task's place as the chief, and has model_dir now: start this task again, to train as a worker", ErrPeerLost)

// lockFile is the file of model_dir that its one writer has locked.
const lockFile = ".lock"

// hold is what a task of an elastic job knows of the lock on model_dir. A process that stands still keeps its lock, so the
// chief shows that it runs by changing the file's time, and the others watch that.
type hold struct {
	dir string

	mu    sync.Mutex
	lock  *os.File    // of this task; nil: it has none
	seen  os.FileInfo // of another task's lock, when it was last looked at
	since time.Time   // when that was new
}

// keep notes the lock of this task, nil for none.
func (h *hold) keep(lock *os.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lock = lock
}

// Tend is called again and again. It renews this task's lock, or looks whether another renews its own. The error is errDeposed
// where the lock is not this task's any more.
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
		return nil // the others find that the lock is not renewed, where they can look
	}
	info, err := look(filepath.Join(h.dir, lockFile))
	if err == nil && (h.seen == nil || !same(info, h.seen)) {
		h.seen, h.since = info, time.Now()
	}
	return nil
}

// lapsed returns the lock of another task that was not renewed for a time; nil where it was, or where that is not known.
func (h *hold) lapsed(silence time.Duration) os.FileInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil || time.Since(h.since) < silence {
		return nil
	}
	return h.seen
}

// same reports whether two looks at a lock saw the same file, which nobody had renewed.
func same(a, b os.FileInfo) bool { return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) }

// look is os.Stat that opens the file: of a network's file system this asks the server, where os.Stat may tell what was so a
// minute ago.
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

// held is errDeposed where another file has taken the place of a lock.
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

// fencedFS lets files be changed only as long as a lock is held. What was begun before another task took the lock
// cannot be finished either: that task removes files under temporary names.
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
