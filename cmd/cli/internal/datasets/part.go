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

// partSuffix is of the name of a file whose download has not ended.
const partSuffix = ".part"

// part is a file that is being downloaded; one process has it at a time.
type part struct {
	file *os.File
	path string // in the end
	size int64
}

// openPart opens what there is of a file, to go on with it.
func openPart(path string) (*part, error) {
	for {
		if there, err := os.Lstat(path + partSuffix); err == nil && !there.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a file: move it away, or choose another folder", path+partSuffix) // a link leads to a file of somebody's
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
		f.Close() // it got its name before it was locked
	}
}

// append adds what r has, and keeps what came before an error.
func (p *part) append(r io.Reader) error {
	if _, err := p.file.Seek(p.size, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(writeMarker{p.file}, r)
	p.size += n
	return err
}

// writeError is an error of this machine's, after which no mirror helps.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// writeMarker distinguishes errors of writing from errors of reading.
type writeMarker struct{ f *os.File }

func (w writeMarker) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if err != nil {
		err = writeError{err}
	}
	return n, err
}

// restart gives up what is there.
func (p *part) restart() error {
	if p.size == 0 {
		return nil
	}
	p.size = 0
	return p.file.Truncate(0)
}

// check reports what is wrong with the part as the whole of a file.
func (p *part) check(f File) error {
	if p.size < f.Size {
		return fmt.Errorf("%w after %d of %d bytes", io.ErrUnexpectedEOF, p.size, f.Size)
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return verify(p.file, f.Size, f.SHA256)
}

// commit gives the file its name, durably.
func (p *part) commit() error {
	if err := p.file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.path); err != nil {
		return err
	}
	return atomicfile.SyncDir(atomicfile.OS{}, filepath.Dir(p.path))
}

// close lets others have it. A part of nothing is removed.
func (p *part) close() error {
	if p.size == 0 {
		_ = os.Remove(p.path + partSuffix)
	}
	return p.file.Close()
}
