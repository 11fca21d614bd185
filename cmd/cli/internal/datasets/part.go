package datasets

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/filelock"
)

// partSuffix ends the name of an incomplete file.
const partSuffix = ".part"

// part is a file while it is downloaded. One process holds it at a time.
type part struct {
	file *os.File
	path string // final name
	size int64
}

// openPart opens or creates the part of a file and locks it.
func openPart(path string) (*part, error) {
	for {
		if there, err := os.Lstat(path + partSuffix); err == nil && !there.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file: move it away, or choose another folder", path+partSuffix) // a link may lead to someone else's file
		}
		f, err := os.OpenFile(path+partSuffix, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if err := filelock.Try(f); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: another process downloads it: %w", f.Name(), err), f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(f.Name()); err == nil && os.SameFile(mine, there) {
			return &part{file: f, path: path, size: mine.Size()}, nil
		}
		f.Close() // another process renamed it before it was locked
	}
}

// append appends what r returns, and keeps the bytes read before an error.
func (p *part) append(r io.Reader) error {
	if _, err := p.file.Seek(p.size, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(writeMarker{p.file}, r)
	p.size += n
	return err
}

// writeError is an error on this machine; another mirror would not help.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// writeMarker marks write errors, to tell them from read errors.
type writeMarker struct{ f *os.File }

func (w writeMarker) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if err != nil {
		err = writeError{err}
	}
	return n, err
}

// restart empties the part.
func (p *part) restart() error {
	if p.size == 0 {
		return nil
	}
	p.size = 0
	return p.file.Truncate(0)
}

// check verifies that the part is the complete file.
func (p *part) check(f File) error {
	if p.size < f.Size {
		return fmt.Errorf("%w after %d of %d bytes", io.ErrUnexpectedEOF, p.size, f.Size)
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return verify(p.file, f.Size, f.SHA256)
}

// commit renames the part to the file's name, durably.
func (p *part) commit() error {
	if err := p.file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.path); err != nil {
		return err
	}
	return atomicfile.SyncDir(atomicfile.OS{}, filepath.Dir(p.path))
}

// close releases the part. An empty part is removed.
func (p *part) close() error {
	if p.size == 0 {
		_ = os.Remove(p.path + partSuffix)
	}
	return p.file.Close()
}
