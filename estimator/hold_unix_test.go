//go:build unix

package estimator

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// TestReplaceLock: the lock of a stopped process is replaced, by one process only, unless it was renewed since.
func TestReplaceLock(t *testing.T) {
	dir := t.TempDir()
	chief, worker := &hold{dir: dir}, &hold{dir: dir}
	first, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	chief.keep(first)
	tend := func(h *hold, want error) {
		t.Helper()
		if err := h.Tend(); !errors.Is(err, want) {
			t.Fatalf("got %v, expected %v", err, want)
		}
	}
	tend(worker, nil)
	if worker.lapsed(time.Hour) != nil {
		t.Error("a lock that was just seen is taken for stale")
	}
	stale := worker.lapsed(0)
	renewed := stale.ModTime().Add(time.Second)
	if err := os.Chtimes(filepath.Join(dir, lockFile), renewed, renewed); err != nil {
		t.Fatal(err)
	}
	if _, err := replaceLock(dir, stale); !errors.Is(err, ErrLocked) {
		t.Errorf("a lock that was renewed: %v", err)
	}
	tend(chief, nil)
	tend(worker, nil)
	second, err := replaceLock(dir, worker.lapsed(0))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	worker.keep(second)
	if _, err := replaceLock(dir, stale); !errors.Is(err, ErrLocked) {
		t.Errorf("a lock that was replaced: %v", err)
	}
	tend(chief, errDeposed)
	tend(worker, nil)
	if code := ExitCode(errDeposed); code != 138 {
		t.Errorf("exit code %d", code)
	}
	first.Close()
	if _, err := lockDir(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("with the new lock held: %v", err)
	}
}

// TestDeposedWritesNothing: after another task has taken a chief's place, all writes of the chief fail, even those that it had begun.
func TestDeposedWritesNothing(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	fenced := fencedFS{atomicfile.OS{}, lock}
	path := filepath.Join(dir, "model.ckpt-7.index")
	write := func() error { return atomicfile.WriteFile(fenced, path, []byte("old")) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	begun, err := atomicfile.Create(fenced, path)
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := filepath.Glob(path + ".tmp-*")
	if err != nil || len(tmp) != 1 {
		t.Fatalf("temporary files %v, %v", tmp, err)
	}
	seen, err := os.Stat(filepath.Join(dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	second, err := replaceLock(dir, seen)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := checkpoint.NewSaver(dir, checkpoint.Options{}); err != nil { // as the successor does
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"write": write(), "remove": fenced.Remove(path), "commit": begun.Commit(), "unfenced rename": os.Rename(tmp[0], path),
	} {
		if err == nil || what != "unfenced rename" && !errors.Is(err, errDeposed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestDeposedOnNetworkFileSystem: the chief is deposed if a file server has forgotten its lock, since another machine has replaced it.
func TestDeposedOnNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	chief := &hold{dir: dir}
	chief.keep(lock)
	real := statOpen
	defer func() { statOpen = real }()
	for cause, want := range map[error]error{syscall.ESTALE: errDeposed, syscall.EIO: nil} {
		statOpen = func(f *os.File) (os.FileInfo, error) {
			return nil, &os.PathError{Op: "stat", Path: f.Name(), Err: cause}
		}
		if err := chief.Tend(); !errors.Is(err, want) {
			t.Errorf("%v: got %v, expected %v", cause, err, want)
		}
		if err := (fencedFS{atomicfile.OS{}, lock}).Remove(filepath.Join(dir, "x")); !errors.Is(err, cmp.Or(want, cause)) {
			t.Errorf("%v: a change of model_dir: %v", cause, err)
		}
	}
}
