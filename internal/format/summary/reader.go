package summary

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// CorruptError says that the bytes of an event file contradict each other.
type CorruptError struct {
	Path   string
	Offset int64 // where the record starts
	Reason string
	Err    error // the cause, or nil
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt event file %s, offset %d: %s", e.Path, e.Offset, e.Reason)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Files returns the event files of a directory in the order in which they were
// started; none if the directory does not exist.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); strings.HasPrefix(e.Name(), FilePrefix) && isFile(path, e) {
			files = append(files, path)
		}
	}
	slices.SortStableFunc(files, compareNames)
	return files, nil
}

// isFile reports whether an entry is a file, or a link to one: opening a pipe would wait for its writer.
func isFile(path string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// compareNames compares dot-separated names, numbers by value: time, host,
// process, serial number.
func compareNames(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		n, errN := strconv.ParseInt(x, 10, 64)
		m, errM := strconv.ParseInt(y, 10, 64)
		if errN == nil && errM == nil {
			return cmp.Compare(n, m)
		}
		return cmp.Compare(x, y)
	})
}

// Read yields the events of a directory's files in order. A truncated record at
// the end of a file, as a crash leaves it, ends that file silently. Other damage
// yields a *CorruptError, and reading continues with the next file.
func Read(dir string) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		files, err := Files(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, f := range files {
			for e, err := range ReadFile(f) {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// ReadFile yields the events of one file, like Read.
func ReadFile(path string) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		f, err := atomicfile.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		read(path, f)(yield)
	}
}

func read(path string, in io.Reader) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		r := tfrecord.NewReader(bufio.NewReader(in))
		for {
			e, err := next(path, 0, r)
			if err == io.EOF || !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// next reads one event of a file; r began at offset base. The error is io.EOF at the end of the file, even within a record.
func next(path string, base int64, r *tfrecord.Reader) (*Event, error) {
	at := base + r.Offset()
	b, err := r.Next()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, io.EOF
	}
	var ce *tfrecord.CorruptError
	if errors.As(err, &ce) {
		return nil, &CorruptError{Path: path, Offset: base + ce.Offset, Reason: ce.Reason, Err: err}
	}
	if err != nil {
		return nil, err
	}
	e := new(Event)
	if err := proto.Unmarshal(b, e); err != nil {
		return nil, &CorruptError{Path: path, Offset: at, Reason: "the record is not an event", Err: err}
	}
	return e, nil
}
