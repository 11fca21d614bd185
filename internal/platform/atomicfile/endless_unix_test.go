//go:build unix

package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Files without an end are not opened for reading, and a file with holes takes no memory.
func TestEndlessFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	root, err := atomicfile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("pipe", at("link")), os.Symlink("/dev/zero", at("device")),
		os.WriteFile(at("file"), []byte("x"), 0o600), os.Symlink("file", at("good"))); err != nil {
		t.Fatal(err)
	}
	for name, fsys := range map[string]atomicfile.FS{"OS": atomicfile.OS{}, "Root": root} {
		for _, bad := range []string{"pipe", "link", "device"} {
			if b, err := atomicfile.ReadFile(fsys, at(bad)); err == nil {
				t.Errorf("%s: %s was read, %d bytes", name, bad, len(b))
			}
		}
		for _, good := range []string{"file", "good"} {
			if b, err := atomicfile.ReadFile(fsys, at(good)); string(b) != "x" || err != nil {
				t.Errorf("%s: %s: got %q and %v", name, good, b, err)
			}
		}
	}
	for _, bad := range []string{"pipe", "link", "device"} {
		if f, err := atomicfile.Open(at(bad)); err == nil {
			f.Close()
			t.Errorf("%s was opened", bad)
		}
	}
	for _, good := range []string{"file", "good", "."} {
		f, err := atomicfile.Open(at(good))
		if err != nil {
			t.Errorf("%s: %v", good, err)
			continue
		}
		f.Close()
	}
	if err := os.Truncate(at("file"), 50<<30); err != nil {
		t.Skipf("skipped: no files with holes here: %v", err)
	}
	if _, err := atomicfile.ReadFile(atomicfile.OS{}, at("file")); err == nil || !strings.Contains(err.Error(), "has 53687091200 bytes, expected at most") {
		t.Errorf("a file of 50 GiB: got %v", err)
	}
	if err := os.Truncate(at("file"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := atomicfile.ReadFile(atomicfile.OS{}, at("file")); err == nil || !strings.Contains(err.Error(), "it has holes") {
		t.Errorf("a file of holes: got %v", err)
	}
}
