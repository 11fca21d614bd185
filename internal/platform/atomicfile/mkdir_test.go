package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/failpoint"
	"github.com/google/go-cmp/cmp"
)

// Files written into new directories, at any depth, survive a power cut at any later moment.
func TestMkdirAllIsDurable(t *testing.T) {
	for _, c := range []struct{ there, dir string }{{"/d", "/d/x"}, {"/d", "/d/x/y/z"}, {"/d/x", "/d/x/y/z/"}, {"/", "/x/y"}, {".", "x/y"}} {
		m := NewMem(c.there)
		if err := MkdirAll(m, c.dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(c.dir, "f")
		if err := WriteFile(m, path, []byte("kept")); err != nil {
			t.Fatal(err)
		}
		for s := range m.PowerLosses(100) {
			if b, err := ReadFile(s, path); err != nil || string(b) != "kept" {
				t.Errorf("%s in %s: %q, %v", c.dir, c.there, b, err)
			}
		}
	}
}

// Each new directory is synced in its parent, from the top down, and existing ones cost nothing.
func TestMkdirAllSyncs(t *testing.T) {
	m := NewMem("/d")
	var seen []string
	m.SetFault(func(op Op, path string) error {
		seen = append(seen, string(op)+" "+path)
		return nil
	})
	for range 2 {
		if err := MkdirAll(m, "/d/x/y"); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"mkdir /d/x", "syncdir /d", "mkdir /d/x/y", "syncdir /d/x"}, seen); d != "" {
		t.Error(d)
	}
	seen = nil
	if err := MkdirAll(m, "/d/x/y/z"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"mkdir /d/x/y/z", "syncdir /d/x/y"}, seen); d != "" {
		t.Error(d)
	}
}

// The model is not vacuous: an unsynced directory may be lost, with all its content.
func TestPowerLossFindsMissingSyncOfDirectory(t *testing.T) {
	m := NewMem("/d")
	if err := errors.Join(m.Mkdir("/d/x"), WriteFile(m, "/d/x/f", []byte("kept"))); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for s := range m.PowerLosses(100) {
		if _, err := ReadFile(s, "/d/x/f"); errors.Is(err, fs.ErrNotExist) {
			lost++
			if names, err := s.ReadDir("/d"); err != nil || len(names) != 0 {
				t.Errorf("%v, %v", names, err)
			}
		}
	}
	if lost != 1 {
		t.Errorf("lost in %d states", lost)
	}
}

func TestMkdirAllFails(t *testing.T) {
	full := errors.New("full")
	for _, op := range []Op{OpMkdir, OpSyncDir} {
		m := NewMem("/d")
		m.SetFault(func(o Op, path string) error {
			if o == op && filepath.Dir(path) != "/" {
				return full
			}
			return nil
		})
		if err := MkdirAll(m, "/d/x/y"); !errors.Is(err, full) {
			t.Errorf("%s: %v", op, err)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := NewMem("/d")
	if err := WriteFile(m, "/d/file", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fs   FS
		path string
	}{{OS{}, file}, {OS{}, filepath.Join(file, "x")}, {OS{}, filepath.Join(file, "x", "y")}, {m, "/d/file"}, {m, "/d/file/x"}, {m, "/d/file/x/y"}} {
		if err := MkdirAll(c.fs, c.path); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%T %s: %v", c.fs, c.path, err)
		}
	}
	if err := os.Symlink("nowhere/at/all", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(OS{}, filepath.Join(dir, "dangling", "x")); err == nil {
		t.Error("made a directory below a link to nowhere")
	}
}

// A directory that may be written but not listed accepts a new one, without a sync.
func TestMkdirAllWhereNobodyMayList(t *testing.T) {
	m := NewMem("/d")
	m.SetFault(func(op Op, path string) error {
		if op == OpSyncDir {
			return &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}
		}
		return nil
	})
	if err := MkdirAll(m, "/d/x/y"); err != nil {
		t.Error(err)
	}
	if names, err := m.ReadDir("/d/x"); err != nil || !slices.Equal(names, []string{"y"}) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestMkdirAllPoint(t *testing.T) {
	off, err := failpoint.Enable("atomicfile/directory-durable", "error")
	if err != nil {
		t.Fatal(err)
	}
	defer off()
	dir := t.TempDir()
	if err := MkdirAll(OS{}, dir); err != nil {
		t.Errorf("a directory that is there: %v", err)
	}
	if err := MkdirAll(OS{}, filepath.Join(dir, "x")); !errors.Is(err, failpoint.ErrInjected) {
		t.Errorf("a new one: %v", err)
	}
}
