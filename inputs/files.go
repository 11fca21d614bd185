package inputs

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Expand returns the files that names and globs match: the matches of each glob sorted,
// the names in the given order. A name or glob that matches nothing is an error.
func Expand(patterns ...string) ([]string, error) {
	var files []string
	for _, p := range patterns {
		if _, err := os.Stat(p); err == nil || !strings.ContainsAny(p, "*?[") { // a name may look like a glob
			if err := checkFile(p); err != nil {
				return nil, err
			}
			files = append(files, p)
			continue
		}
		found, err := filepath.Glob(p)
		if err != nil {
			return nil, fmt.Errorf("bad file pattern %q: %w", p, err)
		}
		if len(found) == 0 {
			return nil, &explained{fs.ErrNotExist, fmt.Sprintf("no file matches %q: check data_dir and the pattern", p)}
		}
		slices.Sort(found)
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errNoFiles
	}
	return files, nil
}

var errNoFiles = errors.New("no input files given: name at least one")

// checkFiles fails unless there are files and all can be read.
func checkFiles(files []string) error {
	if len(files) == 0 {
		return errNoFiles
	}
	for _, name := range files {
		if err := checkFile(name); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(name string) error {
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &explained{err, fmt.Sprintf("input file %s does not exist: check data_dir and the file name", name)}
	}
	if err != nil {
		return fmt.Errorf("open input: %w", err)
	}
	if st.IsDir() {
		return fmt.Errorf("input %s is a folder, expected a file: name the files in it, for example %s", name, filepath.Join(name, "*"))
	}
	return nil
}

// file is an open file, unpacked where it is gzip.
type file struct {
	io.Reader
	f *os.File
}

func (f *file) Close() error { return f.f.Close() }

// openFile opens a file; gzip is detected by its first bytes, not by the name.
func openFile(name string) (*file, error) { return openUnless(name, nil) }

// openUnless is openFile, except that plain may decide, by the first bytes, that a file only
// looks like gzip.
func openUnless(name string, plain func(head *bufio.Reader) bool) (*file, error) {
	if err := checkFile(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open input: %w", err)
	}
	br := bufio.NewReaderSize(f, 64<<10)
	if mark, err := br.Peek(2); err != nil || mark[0] != 0x1f || mark[1] != 0x8b || plain != nil && plain(br) {
		return &file{br, f}, nil
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		f.Close()
		return nil, fileError(name, "damaged gzip file: %w", err)
	}
	return &file{zr, f}, nil
}

// unmarked returns a text without the byte order mark that some programs put first.
func unmarked(in io.Reader) *bufio.Reader {
	br := bufio.NewReader(in)
	const mark = "\ufeff"
	if first, _ := br.Peek(len(mark)); string(first) == mark {
		_, _ = br.Discard(len(mark)) // Peek has already read them
	}
	return br
}

// readFile returns the unpacked content of a file.
func readFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.f.Stat()
	if err != nil {
		return nil, fileError(name, "file cannot be read: %w", err)
	}
	most := maxUnpacked(st.Size())
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fileError(name, "file cannot be read to its end, it may be cut short: %w", err)
	}
	if int64(len(data)) > most {
		return nil, fileError(name, "file of %d bytes unpacks to more than %d, which is all that is read into memory: unpack it first (gunzip)", st.Size(), most)
	}
	return data, nil
}

// seekable is an open file with random access.
type seekable interface {
	io.ReaderAt
	io.ReadSeeker
	io.Closer
}

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

// openSeekable opens a file for random access; a gzip one is unpacked into memory.
func openSeekable(name string) (seekable, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	if _, packed := f.Reader.(*gzip.Reader); packed {
		f.Close()
		data, err := readFile(name)
		return memoryFile{bytes.NewReader(data)}, err
	}
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, fileError(name, "file cannot be read: %w", err)
	}
	return f.f, nil
}
