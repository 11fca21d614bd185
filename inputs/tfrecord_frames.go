package inputs

import (
	"errors"
	"io"

	"github.com/goestimator/goestimator/internal/format/tfrecord"
)

// longestFramed is the longest record in a block. Longer ones are read one by one, since several at a time would take too much memory.
const longestFramed = 1 << 20

// errNotFramed says that the next record cannot be in a block: it is damaged, truncated or long.
var errNotFramed = errors.New("record cannot be read in a block")

// recordFrames cuts a stream of TFRecords into blocks of whole records with their headers and checksums. It checks the lengths, not
// the data.
type recordFrames struct {
	in   io.Reader
	most int    // most records in a block
	rest []byte // not yet in a block
	err  error  // of in
}

func (f *recordFrames) more() bool { return f.err == nil || len(f.rest) > 0 }

func (f *recordFrames) next(buf []byte, size int) ([]byte, error) {
	buf = append(buf[:0], f.rest...)
	f.rest = f.rest[:0]
	for ; ; size *= 2 {
		n, full := f.whole(buf)
		if !full && f.err == nil && len(buf) < size {
			buf = f.fill(buf, size)
			n, full = f.whole(buf)
		}
		switch {
		case n > 0:
			f.rest = append(f.rest, buf[n:]...)
			return buf[:n], nil
		case full:
			return nil, errNotFramed
		case len(buf) == 0 && eof(f.err):
			return nil, f.err
		case f.err != nil:
			return nil, errNotFramed
		}
	}
}

// fill reads until there are size bytes, or the stream ends.
func (f *recordFrames) fill(buf []byte, size int) []byte {
	have := len(buf)
	buf = append(buf, make([]byte, size-have)...)
	for have < size && f.err == nil {
		var n int
		n, f.err = f.in.Read(buf[have:])
		have += n
	}
	return buf[:have]
}

// whole returns the number of bytes of whole records in b. full is true if more bytes would not add any.
func (f *recordFrames) whole(b []byte) (n int, full bool) {
	for k := 0; ; k++ {
		if k == f.most {
			return n, true
		}
		size, ok := tfrecord.Size(b[n:])
		if !ok || size > longestFramed {
			return n, len(b)-n >= tfrecord.HeaderSize
		}
		if size > int64(len(b)-n) {
			return n, false
		}
		n += int(size)
	}
}
