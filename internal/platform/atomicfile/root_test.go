package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// TestRoot: files below the folder are written and read, and no name or link leads out of it.
func TestRoot(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "in")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	r, err := atomicfile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sub := filepath.Join(dir, "sub")
	if err := r.Mkdir(sub); err != nil {
		t.Fatal(err)
	}
	if err := r.Mkdir(sub); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that is there: got %v", err)
	}
	if err := atomicfile.WriteFile(r, filepath.Join(sub, "a"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := r.Rename(filepath.Join(sub, "a"), filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if b, err := atomicfile.ReadFile(r, filepath.Join(dir, "b")); err != nil || string(b) != "x" {
		t.Errorf("got %q, %v", b, err)
	}
	if err := r.Remove(sub); err != nil {
		t.Error(err)
	}
	if names, err := r.ReadDir(dir); err != nil || !slices.Equal(names, []string{"b", "link"}) {
		t.Errorf("got %v, %v", names, err)
	}
	for _, name := range []string{filepath.Join(outside, "c"), filepath.Join(dir, "..", "c"), filepath.Join(dir, "link", "c"), dir + "more/c"} {
		if err := atomicfile.WriteFile(r, name, []byte("x")); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if !r.Holds(filepath.Join(dir, "x")) || r.Holds(outside) || r.Holds(dir+"more") {
		t.Error("Holds")
	}
	if err := r.Rename(filepath.Join(dir, "b"), filepath.Join(outside, "b")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if err := r.Mkdir(filepath.Join(outside, "d")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if _, err := atomicfile.OpenRoot(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
