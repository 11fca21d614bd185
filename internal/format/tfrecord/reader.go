package tfrecord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
)

// CorruptError says that a stream is not a sequence of records. If the stream
// ends inside a record, as after a crash of the writer, it wraps
// io.ErrUnexpectedEOF.
type CorruptError struct {
	Offset int64  // start of the record, in bytes of the (decompressed) stream
	Reason string // what is wrong with it
	Err    error  // the cause, or nil
	Data   bool   // only the data of this record is damaged: Next continues after it
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("corrupt record at offset %d: %s", e.Offset, e.Reason)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// Reader reads records from a stream. It does not buffer: give it a bufio.Reader
// if the source is a file.
type Reader struct {
	r      io.Reader
	offset int64
	buf    bytes.Buffer
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Offset returns the position at which the next record starts.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next record, valid until the next call. The error is io.EOF
// at the end of the stream, a *CorruptError, or the underlying reader's error.
// Memory grows with the bytes that exist, not with what a length claims.
func (r *Reader) Next() ([]byte, error) {
	var head [HeaderSize]byte
	if n, err := io.ReadFull(r.r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, r.truncated(fmt.Sprintf("the stream ends after %d bytes of the %d byte header", n, HeaderSize))
		}
		return nil, err
	}
	if err := r.checksum("length", head[:8], head[8:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(head[:8])
	if size > math.MaxInt64-HeaderSize-footerSize {
		return nil, &CorruptError{Offset: r.offset, Reason: fmt.Sprintf("length %d is out of range", size)}
	}
	want := int64(size) + footerSize
	r.buf.Reset()
	n, err := io.CopyN(&r.buf, r.r, want)
	if errors.Is(err, io.EOF) {
		return nil, r.truncated(fmt.Sprintf("the stream ends after %d of %d bytes of data and checksum", n, want))
	}
	if err != nil {
		return nil, err
	}
	b := r.buf.Bytes()
	data := b[:size]
	err = r.checksum("data", data, b[size:])
	r.offset += HeaderSize + want
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (r *Reader) checksum(what string, data, stored []byte) error {
	want, got := binary.LittleEndian.Uint32(stored), maskedcrc.Of(data)
	if want == got {
		return nil
	}
	return &CorruptError{Offset: r.offset, Reason: fmt.Sprintf("checksum of the %s: stored %08x, computed %08x", what, want, got), Data: what == "data"}
}

func (r *Reader) truncated(reason string) error {
	return &CorruptError{Offset: r.offset, Reason: reason, Err: io.ErrUnexpectedEOF}
}
