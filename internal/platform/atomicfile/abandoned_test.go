package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Files of killed processes are removed; files that are held, new, or for other paths stay.
func TestRemoveAbandoned(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	held, err := Create(OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Discard()
	if err := held.Hold(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"f.tmp-1-1", "f.tmp-2", "ff.tmp-1-1", "f"} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o600), os.Chtimes(filepath.Join(dir, name), old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chtimes(held.tmp, old, old), os.WriteFile(path+".tmp-1-2", nil, 0o600), os.Symlink("f", path+".tmp-1-3")); err != nil {
		t.Fatal(err)
	}
	RemoveAbandoned(path, time.Hour)
	RemoveAbandoned(filepath.Join(dir, "no such folder", "f"), 0)
	got, err := OS{}.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"f", filepath.Base(held.tmp), "f.tmp-1-2", "f.tmp-1-3", "ff.tmp-1-1"}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("left are %q, expected %q", got, want)
	}
	if err := held.Commit(); err != nil {
		t.Error(err)
	}
}

// Rewrite removes the temporary files for its path, and no others.
func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	old := time.Now().Add(-2 * abandonedAfter)
	for _, name := range []string{"f.tmp-1-1", "g.tmp-1-1"} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o600), os.Chtimes(filepath.Join(dir, name), old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(path+".tmp-1-2", nil, 0o600), Rewrite(path, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	got, err := OS{}.ReadDir(dir)
	if want := []string{"f", "f.tmp-1-2", "g.tmp-1-1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("left are %q, expected %q, error %v", got, want, err)
	}
	if text, err := os.ReadFile(path); string(text) != "x" || err != nil {
		t.Errorf("the file holds %q, error %v", text, err)
	}
}
