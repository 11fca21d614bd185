package summary

import (
	"bufio"
	"io"
	"iter"
	"os"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Tail reads an event file while it grows.
type Tail struct {
	path   string
	info   os.FileInfo // of the file, at the last read
	offset int64       // after the last event
}

// NewTail returns a Tail at the beginning of a file.
func NewTail(path string) *Tail { return &Tail{path: path} }

// Replaced reports whether the file is gone, shorter than what was read, or
// another file: what was read is then no longer valid.
func (t *Tail) Replaced() bool {
	if t.info == nil {
		return false
	}
	now, err := os.Stat(t.path)
	return err != nil || now.Size() < t.offset || !os.SameFile(now, t.info)
}

// Next yields the events after those of earlier calls. An incomplete
// record is left for a later call. Damage yields a *CorruptError, once until
// the file grows.
func (t *Tail) Next() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		f, err := atomicfile.Open(t.path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			yield(nil, err)
			return
		}
		if t.info != nil && info.Size() == t.info.Size() {
			return
		}
		t.info = info
		base := t.offset
		if _, err := f.Seek(base, io.SeekStart); err != nil {
			yield(nil, err)
			return
		}
		r := tfrecord.NewReader(bufio.NewReader(f))
		for {
			e, err := next(t.path, base, r)
			if err == io.EOF {
				return
			}
			if err == nil {
				t.offset = base + r.Offset()
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
