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

// FS is what the writers of durable files need of a file system. Errors are
// *fs.PathError or *os.LinkError, so that the path and the errno survive.
type FS interface {
	// OpenFile opens name with the flags of package os. A directory is opened
	// with os.O_RDONLY, to be synced.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Rename replaces newname atomically.
	Rename(oldname, newname string) error
	Remove(name string) error
	// ReadDir returns the names of a directory's entries, sorted.
	ReadDir(name string) ([]string, error)
	// Mkdir makes a directory in one that is there. Its error is fs.ErrExist where
	// name is a directory already.
	Mkdir(name string) error
}

// File is an open file of an FS. Writing appends.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes the content durable; of a directory, its entries.
	Sync() error
	// Size returns the present length in bytes.
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

// checkHoles fails for a file that is hardly more than holes: to read it would take memory for nothing.
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

// errEndless is of what is no file: a pipe is waited for, and a device need never end.
var errEndless = errors.New("expected a file or a folder, not a pipe or a device")

// checkReadable fails for what reading might never come to the end of. Other errors are left to the code that opens it.
func checkReadable(name string, flag int, stat func(string) (fs.FileInfo, error)) error {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return nil
	}
	if info, err := stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s: %w", name, errEndless) // no error of reading: it would be there the next time
	}
	return nil
}

// OpenFile implements FS. To read, it opens files and folders alone.
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

// Open opens a file or a folder as os.Open does, and nothing that reading might never come to the end of.
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
	// Asked first: to make a directory that is there may be refused for other reasons.
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return os.Mkdir(name, 0o777)
	case !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	}
	return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
}
