package transport

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// reader reads frames.
type reader struct {
	conn net.Conn
	buf  []byte
	r, w int           // unread data in buf
	came atomic.Uint64 // number of reads with data
	bulk bool          // parts are being received: reading ahead would cause another copy
}

const (
	// fewRead is how many bytes a reader reads ahead until there is a larger frame, which many connections never
	// have.
	fewRead = 4 << 10
	// mostRead is the size of the largest frame that is read at once.
	mostRead = headerSize + maxHead + maxWhole
)

func newReader(c net.Conn) *reader { return &reader{conn: c, buf: make([]byte, fewRead)} }

// next returns the next n bytes, at most the size of a frame. They are valid until the next call.
func (r *reader) next(n int) ([]byte, error) {
	if n > len(r.buf) {
		r.buf = append(make([]byte, 0, mostRead), r.buf...)[:mostRead]
	}
	for r.w-r.r < n {
		if r.r+n > len(r.buf) || r.r == r.w {
			r.w = copy(r.buf, r.buf[r.r:r.w])
			r.r = 0
		}
		end := len(r.buf)
		if r.bulk {
			end = r.r + n
		}
		k, err := r.conn.Read(r.buf[r.w:end])
		r.w += k
		if err = r.note(k, err); err != nil && r.w-r.r < n {
			return nil, err
		}
	}
	b := r.buf[r.r : r.r+n]
	r.r += n
	return b, nil
}

// full reads into all of b, and returns the number of bytes. Data that is not in the buffer is read directly
// into b.
func (r *reader) full(b []byte) (n int, err error) {
	n = copy(b, r.buf[r.r:r.w])
	r.r += n
	for n < len(b) {
		k, err := r.conn.Read(b[n:])
		n += k
		if err = r.note(k, err); err != nil && n < len(b) {
			return n, err
		}
	}
	return n, nil
}

// stop ends a waiting read, or allows reading again.
func (r *reader) stop(now bool) {
	at := time.Time{}
	if now {
		at = time.Unix(1, 0)
	}
	_ = r.conn.SetReadDeadline(at) // if it fails, reads fail, too
}

// discard reads and drops n bytes.
func (r *reader) discard(n int) error {
	for n > 0 {
		k := min(n, len(r.buf))
		if _, err := r.next(k); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// note counts a read.
func (r *reader) note(n int, err error) error {
	if n > 0 {
		r.came.Add(1)
	}
	if err == io.EOF && r.w > r.r {
		return io.ErrUnexpectedEOF
	}
	return err
}
