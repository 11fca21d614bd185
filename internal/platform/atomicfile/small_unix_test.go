//go:build unix

package atomicfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// A small file may be a pipe. One byte above the limit is an error, and so is a device without an end.
func TestReadSmall(t *testing.T) {
	const most = 16 << 20
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	for _, n := range []int{0, 1, most, most + 1} {
		text := bytes.Repeat([]byte("x"), n)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := atomicfile.ReadSmall(file)
		if n <= most && (err != nil || !bytes.Equal(got, text)) {
			t.Errorf("%d bytes: got %d and %v", n, len(got), err)
		}
		if n > most && (err == nil || !strings.Contains(err.Error(), file+": it has more than 16777216 bytes")) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
	if _, err := atomicfile.ReadSmall("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero") {
		t.Errorf("/dev/zero: got %v", err)
	}
	if _, err := atomicfile.ReadSmallFrom(strings.NewReader(strings.Repeat("x", most+1)), "standard input"); err == nil || !strings.Contains(err.Error(), "read standard input: it has more than") {
		t.Errorf("standard input: got %v", err)
	}
	if _, err := atomicfile.ReadSmall(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go os.WriteFile(pipe, []byte("a: 1\n"), 0o600)
	if got, err := atomicfile.ReadSmall(pipe); string(got) != "a: 1\n" || err != nil {
		t.Errorf("a pipe: got %q and %v", got, err)
	}
}
