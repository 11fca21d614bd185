package onnx

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
	path := filepath.Join(dir, File)
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
	if _, err := Read(dir); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "holes") {
		t.Errorf("got %v, expected that the file has holes", err)
	}
}

// Weights in a file that consists mostly of holes, or that exceed the memory, are refused before they are read.
func TestWeightsWithHoles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w")
	if err := os.WriteFile(path, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	key, name := "location", "w"
	read := func(room int64) error {
		f := &files{root: root, open: map[string]*file{}, room: room}
		_, err := f.read([]*StringStringEntryProto{{Key: &key, Value: &name}}, 8)
		return errors.Join(err, f.close())
	}
	if err := read(8); err != nil {
		t.Error(err)
	}
	if err := read(7); err == nil || !strings.Contains(err.Error(), "8 bytes of w do not fit into memory: 1 are missing") {
		t.Errorf("got %v", err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip(err) // the file system has no holes
	}
	if err := read(1 << 41); err == nil || !strings.Contains(err.Error(), "w has holes") {
		t.Errorf("got %v, expected that the file has holes", err)
	}
}
