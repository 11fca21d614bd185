package atomicfile

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
)

// tempInfix stands between a file's final name and the part that makes the
// temporary one unique.
const tempInfix = ".tmp-"

var (
	tempSerial  atomic.Int64
	tempPattern = regexp.MustCompile(`^.+\.tmp-[0-9]+-[0-9]+$`)
)

// IsTemp reports whether Create made the file name: such files remain after a crash, and the directory's only
// writer may remove them.
func IsTemp(name string) bool { return tempPattern.MatchString(filepath.Base(name)) }

// Pending is a file under its temporary name. The steps are Write, Sync, Commit;
// then SyncDir on the directory. Discard gives it up.
type Pending struct {
	fs        FS
	file      File
	path, tmp string
}

// Create starts the replacement of path.
func Create(fsys FS, path string) (*Pending, error) {
	tmp := fmt.Sprintf("%s%s%d-%d", path, tempInfix, os.Getpid(), tempSerial.Add(1))
	f, err := fsys.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	return &Pending{fs: fsys, file: f, path: path, tmp: tmp}, nil
}

// Write appends to the temporary file.
func (p *Pending) Write(b []byte) (int, error) { return p.file.Write(b) }

// Sync makes the written data durable.
func (p *Pending) Sync() error { return p.file.Sync() }

// Commit closes the file and gives it its final name. The name is durable only after SyncDir. On failure the
// temporary file is removed.
func (p *Pending) Commit() error {
	f := p.file
	p.file = nil
	if err := f.Close(); err != nil {
		_ = p.fs.Remove(p.tmp)
		return err
	}
	if err := p.fs.Rename(p.tmp, p.path); err != nil {
		_ = p.fs.Remove(p.tmp)
		return err
	}
	return nil
}

// Discard removes the temporary file. After Commit it does nothing, so that it
// can be deferred.
func (p *Pending) Discard() {
	if p.file == nil {
		return
	}
	_ = p.file.Close()
	p.file = nil
	_ = p.fs.Remove(p.tmp)
}

// SyncDir makes the entries of a directory durable: creations, renames, removals.
func SyncDir(fsys FS, dir string) error {
	d, err := fsys.OpenFile(dir, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// WriteFile replaces path by data, durably: after a crash at any moment, path has either its whole old content or
// data. The directory must exist.
func WriteFile(fsys FS, path string, data []byte) error {
	p, err := Create(fsys, path)
	if err != nil {
		return err
	}
	defer p.Discard()
	if _, err := p.Write(data); err != nil {
		return err
	}
	if err := p.Sync(); err != nil {
		return err
	}
	if err := p.Commit(); err != nil {
		return err
	}
	return SyncDir(fsys, filepath.Dir(path))
}

// mostRead is how many bytes ReadFile reads: a file that claims more, as one with holes may, takes no memory.
const mostRead = math.MaxInt32

// ReadFile returns the content of a file of at most 2 GiB.
func ReadFile(fsys FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > mostRead {
		return nil, fmt.Errorf("read %s: it has %d bytes, expected at most %d", path, size, mostRead)
	}
	if o, ok := f.(osFile); ok {
		if err := o.checkHoles(); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	buf := make([]byte, size)
	n, err := f.ReadAt(buf, 0)
	if n == len(buf) {
		return buf, nil
	}
	return nil, fmt.Errorf("read %s: got %d of %d bytes: %w", path, n, size, err)
}
