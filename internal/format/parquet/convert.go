package parquet

import (
	"encoding/binary"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/bitutil"
	"github.com/apache/arrow/go/v15/arrow/memory"
	"github.com/apache/arrow/go/v15/parquet"
)

// room returns a buffer for n values of type T.
func room[T any](mem memory.Allocator, n int) (*memory.Buffer, []T) {
	var t T
	b := memory.NewResizableBuffer(mem)
	b.Resize(n * int(unsafe.Sizeof(t)))
	if n == 0 {
		return b, nil
	}
	return b, unsafe.Slice((*T)(unsafe.Pointer(&b.Bytes()[0])), n)
}

// packBools packs bytes of 0 and 1 into bits.
func packBools(mem memory.Allocator, in []byte) *memory.Buffer {
	b, out := room[byte](mem, int(bitutil.BytesForBits(int64(len(in)))))
	for i := range out {
		bits := byte(0)
		for j, v := range in[8*i : min(8*i+8, len(in))] {
			bits |= (v & 1) << j
		}
		out[i] = bits
	}
	return b
}

// narrow returns the low bytes of values.
func narrow[T uint8 | uint16](mem memory.Allocator, in []int32) *memory.Buffer {
	b, out := room[T](mem, len(in))
	for i, v := range in {
		out[i] = T(v)
	}
	return b
}

// nanoseconds converts 96-bit timestamps to nanoseconds since 1970. Writers put day 0 for missing values.
func nanoseconds(mem memory.Allocator, in []parquet.Int96) *memory.Buffer {
	b, out := room[arrow.Timestamp](mem, len(in))
	for i, v := range in {
		out[i] = 0
		if binary.LittleEndian.Uint32(v[8:]) != 0 {
			out[i] = arrow.Timestamp(v.ToTime().UnixNano())
		}
	}
	return b
}
