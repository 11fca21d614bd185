//go:build unix

package inputs

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipeIsNoImage: a named pipe, to which nobody may ever write, is not read.
func TestPipeIsNoImage(t *testing.T) {
	dir := imageFiles(t, map[string][]byte{"a/1.png": pngOf(t, drawn(4, 6, 1))})
	if err := syscall.Mkfifo(filepath.Join(dir, "a", "0.png"), 0o600); err != nil {
		t.Skipf("no named pipe can be made: %v", err)
	}
	f, err := listFiles(t.Context(), dir, Images{}, imageSuffixes)
	if err != nil || len(f.files) != 1 {
		t.Errorf("got %v, %v", f, err)
	}
}

// TestPipeIsNoInput: a file is read twice, for its kind and for its rows, so a pipe is refused before anything waits for it.
func TestPipeIsNoInput(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipe can be made: %v", err)
	}
	for _, name := range []string{pipe, "/dev/zero"} {
		if _, err := OpenFile(t.Context(), name); err == nil || !strings.Contains(err.Error(), "is a pipe or a device, expected a file") || !strings.Contains(err.Error(), "predict --input -") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
