package savedmodel

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

// A file that consists mostly of holes is refused before memory is allocated for it.
func TestFileWithHoles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, BinaryFile)
	if err := os.WriteFile(path, []byte{8, 1}, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<31-1); err != nil {
		t.Skip(err) // the file system has no holes
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if n, hollow := diskspace.Hollow(info); !hollow {
		t.Skipf("%d bytes were written: the file system has no holes", n)
	}
	if _, err := Read(dir, Limits{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "holes") {
		t.Errorf("got %v, expected that the file has holes", err)
	}
}
