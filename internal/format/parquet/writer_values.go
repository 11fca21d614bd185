package parquet

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// writeValues writes the values of a, which has no nulls, with their levels.
func writeValues(w file.ColumnChunkWriter, a arrow.Array, def, rep []int16) (err error) {
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		bools := a.(*array.Boolean)
		values := make([]bool, a.Len())
		for i := range values {
			values[i] = bools.Value(i)
		}
		_, err = w.WriteBatch(values, def, rep)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(int32sOf(a), def, rep)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(raw[int64](a), def, rep)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(raw[float32](a), def, rep)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(raw[float64](a), def, rep)
	case *file.FixedLenByteArrayColumnChunkWriter:
		halves := raw[[arrow.Float16SizeBytes]byte](a)
		values := make([]parquet.FixedLenByteArray, a.Len())
		for i := range values {
			values[i] = halves[i][:]
		}
		_, err = w.WriteBatch(values, def, rep)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(byteArrays(a), def, rep)
	default:
		err = fmt.Errorf("%s is not written", a.DataType())
	}
	return err
}

// raw returns the values of an array of T, or of a type with the same size.
func raw[T any](a arrow.Array) []T {
	d := a.Data()
	if d.Len() == 0 {
		return nil
	}
	var t T
	at := d.Offset() * int(unsafe.Sizeof(t))
	return unsafe.Slice((*T)(unsafe.Pointer(&d.Buffers()[1].Bytes()[at])), d.Len())
}

// int32sOf returns the values of an array of integers with up to 32 bits.
func int32sOf(a arrow.Array) []int32 {
	switch a.DataType().ID() {
	case arrow.INT8:
		return widen(raw[int8](a))
	case arrow.UINT8:
		return widen(raw[uint8](a))
	case arrow.INT16:
		return widen(raw[int16](a))
	case arrow.UINT16:
		return widen(raw[uint16](a))
	}
	return raw[int32](a)
}

func widen[T int8 | uint8 | int16 | uint16](in []T) []int32 {
	out := make([]int32, len(in))
	for i, v := range in {
		out[i] = int32(v)
	}
	return out
}

// byteArrays returns the values of an array of bytes or text, without copying them.
func byteArrays(a arrow.Array) []parquet.ByteArray {
	out := make([]parquet.ByteArray, a.Len())
	for i := range out {
		switch a := a.(type) {
		case *array.Binary:
			out[i] = a.Value(i)
		case *array.String:
			s := a.Value(i)
			out[i] = unsafe.Slice(unsafe.StringData(s), len(s))
		}
	}
	return out
}
