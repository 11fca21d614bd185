package parquetfile

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/file"
)

// writeColumn writes an array of values, or of fixed-size lists of them.
func writeColumn(out file.ColumnChunkWriter, a arrow.Array) error {
	size := 1 // of a row
	l := levels{most: out.Descr().MaxDefinitionLevel(), repeated: out.Descr().MaxRepetitionLevel()}
	if list, ok := a.(*array.FixedSizeList); ok {
		if list.NullN() > 0 {
			return errNulls
		}
		size = int(list.DataType().(*arrow.FixedSizeListType).Len())
		first := int64(list.Offset()) * int64(size)
		values := array.NewSlice(list.ListValues(), first, first+int64(list.Len()*size))
		defer values.Release()
		l.add(list.Len(), size)
		return writeValues(out, values, l)
	}
	l.add(a.Len(), size)
	return writeValues(out, a, l)
}

var errNulls = errors.New("it has nulls, which are not written")

// levels are Dremel's: how much of a value's path is there, and at which list of it the value begins anew.
type levels struct {
	most, repeated int16 // greatest ones of the column
	def, rep       []int16
}

// add adds rows of size values each.
func (l *levels) add(rows, size int) {
	for range rows {
		for i := range size {
			l.def = append(l.def, l.most)
			l.rep = append(l.rep, l.repeated*int16(min(i, 1)))
		}
	}
}

func writeValues(out file.ColumnChunkWriter, a arrow.Array, l levels) error {
	if a.NullN() > 0 {
		return errNulls
	}
	switch a := a.(type) {
	case *array.Int8:
		return writeNumbers(out, a.Int8Values(), l)
	case *array.Int16:
		return writeNumbers(out, a.Int16Values(), l)
	case *array.Int32:
		return writeNumbers(out, a.Int32Values(), l)
	case *array.Int64:
		return writeNumbers(out, a.Int64Values(), l)
	case *array.Uint8:
		return writeNumbers(out, a.Uint8Values(), l)
	case *array.Uint16:
		return writeNumbers(out, a.Uint16Values(), l)
	case *array.Uint32:
		return writeNumbers(out, a.Uint32Values(), l)
	case *array.Uint64:
		return writeNumbers(out, a.Uint64Values(), l)
	case *array.Float32:
		return writeNumbers(out, a.Float32Values(), l)
	case *array.Float64:
		return writeNumbers(out, a.Float64Values(), l)
	}
	switch out := out.(type) {
	case *file.BooleanColumnChunkWriter:
		if a, ok := a.(*array.Boolean); ok {
			_, err := out.WriteBatch(gather(a.Len(), a.Value), l.def, l.rep)
			return err
		}
	case *file.FixedLenByteArrayColumnChunkWriter:
		if a, ok := a.(*array.Float16); ok {
			_, err := out.WriteBatch(gather(a.Len(), func(i int) parquet.FixedLenByteArray { return a.Value(i).ToLEBytes() }), l.def, l.rep)
			return err
		}
	case *file.ByteArrayColumnChunkWriter:
		switch a := a.(type) {
		case *array.Binary:
			_, err := out.WriteBatch(gather(a.Len(), func(i int) parquet.ByteArray { return a.Value(i) }), l.def, l.rep)
			return err
		case *array.String:
			_, err := out.WriteBatch(gather(a.Len(), func(i int) parquet.ByteArray { return parquet.ByteArray(a.Value(i)) }), l.def, l.rep)
			return err
		}
	}
	return fmt.Errorf("type %v is not written", a.DataType())
}

// gather returns the n values of a function.
func gather[T any](n int, value func(int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// writeNumbers writes numbers by the physical type that Parquet has for them.
func writeNumbers[T number](out file.ColumnChunkWriter, v []T, l levels) (err error) {
	switch out := out.(type) {
	case *file.Int32ColumnChunkWriter:
		_, err = out.WriteBatch(converted[int32](v), l.def, l.rep)
	case *file.Int64ColumnChunkWriter:
		_, err = out.WriteBatch(converted[int64](v), l.def, l.rep)
	case *file.Float32ColumnChunkWriter:
		_, err = out.WriteBatch(converted[float32](v), l.def, l.rep)
	case *file.Float64ColumnChunkWriter:
		_, err = out.WriteBatch(converted[float64](v), l.def, l.rep)
	default:
		return fmt.Errorf("numbers are not written as %v", out.Type())
	}
	return err
}

func converted[To, From number](v []From) []To {
	out := make([]To, len(v))
	for i, x := range v {
		out[i] = To(x)
	}
	return out
}
