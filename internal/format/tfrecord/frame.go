package tfrecord

import (
	"encoding/binary"
	"math"

	"github.com/goestimator/goestimator/internal/format/maskedcrc"
)

// Size returns the size of the record at the start of b, including header and checksum. ok is false if b has no complete header, or
// one with a wrong checksum or length.
func Size(b []byte) (n int64, ok bool) {
	if len(b) < HeaderSize || binary.LittleEndian.Uint32(b[8:]) != maskedcrc.Of(b[:8]) {
		return 0, false
	}
	return CheckedSize(b)
}

// CheckedSize is Size for a header whose checksum has been checked already.
func CheckedSize(b []byte) (n int64, ok bool) {
	if len(b) < HeaderSize {
		return 0, false
	}
	size := binary.LittleEndian.Uint64(b)
	if size > math.MaxInt64-HeaderSize-footerSize {
		return 0, false
	}
	return HeaderSize + int64(size) + footerSize, true
}

// Data returns the data of a complete record, whose size Size returns; ok is false if its checksum is wrong.
func Data(record []byte) (data []byte, ok bool) {
	end := len(record) - footerSize
	data = record[HeaderSize:end]
	return data, binary.LittleEndian.Uint32(record[end:]) == maskedcrc.Of(data)
}
