package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Root is the part of the operating system's file system below one directory. No name leads out of it, not even through links.
type Root struct {
	dir  string
	root *os.Root
}

var _ FS = (*Root)(nil)

// OpenRoot opens a directory. The caller must call Close.
func OpenRoot(dir string) (*Root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Root{dir, root}, nil
}

// Dir returns the absolute path.
func (r *Root) Dir() string { return r.dir }

// Holds reports whether a file name is below the directory.
func (r *Root) Holds(name string) bool {
	_, err := r.inside(name)
	return err == nil
}

// Close closes the directory.
func (r *Root) Close() error { return r.root.Close() }

// inside returns the name relative to the directory.
func (r *Root) inside(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(r.dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w: it is not in %s", fs.ErrPermission, r.dir)}
	}
	return rel, nil
}

// OpenFile implements FS. For reading it opens only files and folders.
func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	rel, err := r.inside(name)
	if err != nil {
		return nil, err
	}
	if err := checkReadable(rel, flag, r.root.Stat); err != nil {
		return nil, err
	}
	f, err := r.root.OpenFile(rel, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename implements FS. It refuses to replace a link that leads out of the directory: nothing is written outside, and the link stays.
func (r *Root) Rename(oldname, newname string) error {
	from, err := r.inside(oldname)
	if err != nil {
		return err
	}
	to, err := r.inside(newname)
	if err != nil {
		return err
	}
	if err := r.checkLink(to); err != nil {
		return err
	}
	return r.root.Rename(from, to)
}

// checkLink returns an error if name is a link that leads out. A link that is made later is replaced itself, as by every rename.
func (r *Root) checkLink(name string) error {
	info, err := r.root.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if _, err := r.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rename", Path: name, Err: fmt.Errorf("%w: it is a link that leads out of %s: %w", fs.ErrPermission, r.dir, err)}
	}
	return nil
}

// Remove implements FS.
func (r *Root) Remove(name string) error {
	rel, err := r.inside(name)
	if err != nil {
		return err
	}
	return r.root.Remove(rel)
}

// ReadDir implements FS.
func (r *Root) ReadDir(name string) ([]string, error) {
	rel, err := r.inside(name)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(r.root.FS(), filepath.ToSlash(rel))
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
func (r *Root) Mkdir(name string) error {
	rel, err := r.inside(name)
	if err != nil {
		return err
	}
	if info, err := r.root.Stat(rel); err == nil && info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	return r.root.Mkdir(rel, 0o777)
}
