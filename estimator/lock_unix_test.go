//go:build unix

package estimator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fullFile is a lock file that accepts no write, and perhaps a truncation.
type fullFile struct{ truncate error }

var errFull = errors.New("no space left")

func (f fullFile) Truncate(int64) error      { return f.truncate }
func (f fullFile) Write([]byte) (int, error) { return 0, errFull }

func TestLockThatCannotBeWritten(t *testing.T) {
	other := errors.New("read-only")
	if err := nameHolder(fullFile{}); !errors.Is(err, errFull) {
		t.Errorf("got %v, expected %v", err, errFull)
	}
	if err := nameHolder(fullFile{other}); !errors.Is(err, other) {
		t.Errorf("got %v, expected %v", err, other)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, ".lock")); err != nil {
		t.Fatal(err)
	}
	if f, err := lockDir(dir); err == nil || f != nil || !strings.Contains(err.Error(), "locking model_dir") {
		t.Errorf("a lock that cannot be written: %v, %v", f, err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".lock"), []byte("a longer text of the last holder\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := os.ReadFile(filepath.Join(dir, ".lock")); err != nil || string(text) != fmt.Sprintln(os.Getpid()) {
		t.Errorf("the lock holds %q, %v", text, err)
	}
	if _, err := lockDir(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid(), ":")) {
		t.Errorf("a second lock: %v", err)
	}
}

// TestTakeOverWithoutLocks: no worker takes the chief's place if nothing would show that the chief still writes to model_dir.
func TestTakeOverWithoutLocks(t *testing.T) {
	for _, locks := range []bool{true, false} {
		e := &Estimator{settings: settings{modelDir: t.TempDir()}}
		taking := &training{est: e, files: &trainingFiles{}, hold: &hold{dir: e.modelDir}}
		if !locks {
			real := flock
			flock = func(int, int) error { return unix.ENOTSUP }
			defer func() { flock = real }()
		}
		err := taking.TakeOver(0)
		switch left, _ := os.ReadDir(e.modelDir); {
		case locks && (err != nil || taking.files.lock == nil):
			t.Errorf("with locks: %v", err)
		case !locks && (err == nil || !strings.Contains(err.Error(), "has no locks") || len(left) > 1):
			t.Errorf("without locks: %v, files %v", err, left)
		}
		if err := taking.files.close(); err != nil {
			t.Error(err)
		}
	}
}
