package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/goestimator/goestimator/internal/platform/diskspace"
)

// FS is the interface to the file system for writing durable files. Errors are *fs.PathError or *os.LinkError, so that
// the path and the errno survive.
type FS interface {
	// OpenFile opens name with the flags of package os. A directory is opened
	// with os.O_RDONLY, to be synced.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename replaces newname atomically.
	Rename(oldname, newname string) error
	Remove(name string) error
	// ReadDir returns the names of a directory's entries, sorted.
	ReadDir(name string) ([]string, error)
	// Mkdir makes a directory within an existing one. Its error is fs.ErrExist if name is already a directory.
	Mkdir(name string) error
}

// File is an open file of an FS. Writing appends.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes the content durable; for a directory, its entries.
	Sync() error
	// Size returns the current length in bytes.
	Size() (int64, error)
}

// OS is the operating system's file system.
type OS struct{}

var (
	_ FS   = OS{}
	_ FS   = (*Mem)(nil)
	_ File = osFile{}
	_ File = (*memFile)(nil)
)

type osFile struct{ *os.File }

// Size implements File.
func (f osFile) Size() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// checkHoles returns an error for a file that is mostly holes: reading it would waste memory.
func (f osFile) checkHoles() error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if n, hollow := diskspace.Hollow(info); hollow {
		return fmt.Errorf("it has holes: %d of its %d bytes were written", n, info.Size())
	}
	return nil
}

// errEndless is the error for pipes, which may block, and devices, which may never end.
var errEndless = errors.New("expected a file or a folder, not a pipe or a device")

// checkReadable returns an error for files that might have no end. Other errors are left to the code that opens the file.
func checkReadable(name string, flag int, stat func(string) (fs.FileInfo, error)) error {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return nil
	}
	if info, err := stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s: %w", name, errEndless) // not a read error, which might be temporary
	}
	return nil
}

// OpenFile implements FS. For reading it opens only files and folders.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if err := checkReadable(name, flag, os.Stat); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Open opens a file or a folder as os.Open does, but nothing that might have no end.
func Open(name string) (*os.File, error) {
	if err := checkReadable(name, os.O_RDONLY, os.Stat); err != nil {
		return nil, err
	}
	return os.Open(name)
}

// Rename implements FS.
func (OS) Rename(oldname, newname string) error { return os.Rename(oldname, newname) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// ReadDir implements FS.
func (OS) ReadDir(name string) ([]string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Mkdir implements FS.
func (OS) Mkdir(name string) error {
	// Stat comes first: making an existing directory may fail for other reasons.
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return os.Mkdir(name, 0o777)
	case !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	}
	return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
}
