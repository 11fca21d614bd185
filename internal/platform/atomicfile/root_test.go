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

// TestRootLinks: a link that leads out is neither followed nor replaced, anywhere in the path, even while links are being replaced.
func TestRootLinks(t *testing.T) {
	outside := t.TempDir()
	dir, secret := filepath.Join(outside, "in"), filepath.Join(outside, "secret")
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Mkdir(dir, 0o777), os.Mkdir(in("real"), 0o777), os.WriteFile(secret, []byte("as before"), 0o600), os.WriteFile(in("own"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"file": secret, "relative": "../secret", "folder": outside, "missing": filepath.Join(outside, "new"), "within": "own"} {
		if err := os.Symlink(to, in(name)); err != nil {
			t.Skip(err)
		}
	}
	r, err := atomicfile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, name := range []string{"file", "relative", "missing", "folder", "folder/new", "folder/secret"} {
		if err := atomicfile.WriteFile(r, in(name), []byte("x")); err == nil {
			t.Errorf("%s: written", name)
		}
		if f, err := r.OpenFile(in(name), os.O_RDWR|os.O_CREATE, 0o666); err == nil {
			t.Errorf("%s: opened: %v", name, f.Close())
		}
	}
	for _, name := range []string{"file", "relative", "missing", "folder"} {
		if info, err := os.Lstat(in(name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s: the link is gone: %v", name, err)
		}
	}
	if err := atomicfile.WriteFile(r, in("within"), []byte("x")); err != nil {
		t.Errorf("a link within: %v", err)
	}
	done := make(chan struct{})
	go func() { // a folder becomes a link and a folder again
		defer close(done)
		for range 200 {
			_ = os.Rename(in("real"), in("away"))
			_ = os.Symlink(outside, in("real"))
			_ = os.Remove(in("real"))
			_ = os.Rename(in("away"), in("real"))
		}
	}()
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		_ = atomicfile.WriteFile(r, in("real/secret"), []byte("x"))
		_ = r.Rename(in("own"), in("real/own"))
		_ = r.Rename(in("real/own"), in("own"))
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "as before" {
		t.Errorf("outside: got %q, %v", b, err)
	}
	names, err := os.ReadDir(outside)
	if err != nil || len(names) != 2 {
		t.Errorf("outside: got %v, %v, expected the folder and the secret", names, err)
	}
}
