package tfrecord

import (
	"encoding/binary"
	"io"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
)

// HeaderSize is the number of bytes before a record's data: the length and its checksum.
const HeaderSize = 12

const footerSize = 4 // checksum of the data

// Writer appends records to a stream. It does not buffer.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write appends one record with a single call of the underlying writer.
func (w *Writer) Write(record []byte) error {
	w.buf = Append(w.buf[:0], record)
	_, err := w.w.Write(w.buf)
	return err
}

// Append appends one record in its stored form to dst.
func Append(dst, record []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(record)))
	dst = binary.LittleEndian.AppendUint32(dst, maskedcrc.Of(dst[start:start+8]))
	dst = append(dst, record...)
	return binary.LittleEndian.AppendUint32(dst, maskedcrc.Of(record))
}
