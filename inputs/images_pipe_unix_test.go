//go:build unix

package inputs

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeIsNoImage: a named pipe, which nobody may write to, is not read.
func TestPipeIsNoImage(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"a/1.png": pngOf(t, drawn(4, 6, 1))})
	if err := syscall.Mkfifo(filepath.Join(dir, "a", "0.png"), 0o600); err != nil {
		t.Skipf("no named pipe can be made: %v", err)
	}
	f, err := listFiles(dir, Images{}, imageSuffixes)
	if err != nil || len(f.files) != 1 {
		t.Errorf("got %v, %v", f, err)
	}
}
