package inputs

import (
	"reflect"

	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/goestimator/goestimator/tensor"
)

// elementPutters returns the functions that append Go values of one type to a column of the same type.
func elementPutters(d tensor.DType) (put func(array.Builder, reflect.Value) error, many func(array.Builder, reflect.Value) bool) {
	switch d {
	case tensor.Float32:
		return putFloat[float32, *array.Float32Builder], putAll[float32, *array.Float32Builder]
	case tensor.Float64:
		return putFloat[float64, *array.Float64Builder], putAll[float64, *array.Float64Builder]
	case tensor.Int8:
		return putInt[int8, *array.Int8Builder], nil
	case tensor.Int16:
		return putInt[int16, *array.Int16Builder], nil
	case tensor.Int32:
		return putInt[int32, *array.Int32Builder], nil
	case tensor.Int64:
		return putInt[int64, *array.Int64Builder], putAll[int64, *array.Int64Builder]
	case tensor.Uint8:
		return putUint[uint8, *array.Uint8Builder], putAll[uint8, *array.Uint8Builder]
	case tensor.Uint16:
		return putUint[uint16, *array.Uint16Builder], nil
	case tensor.Uint32:
		return putUint[uint32, *array.Uint32Builder], nil
	case tensor.Uint64:
		return putUint[uint64, *array.Uint64Builder], nil
	case tensor.Bool:
		return func(b array.Builder, v reflect.Value) error { b.(*array.BooleanBuilder).Append(v.Bool()); return nil }, nil
	}
	return putText, nil
}

// appender is a builder with elements of one type.
type appender[T any] interface {
	array.Builder
	Append(T)
	AppendValues([]T, []bool)
}

func putFloat[T float32 | float64, B appender[T]](b array.Builder, v reflect.Value) error {
	b.(B).Append(T(v.Float()))
	return nil
}

func putInt[T int8 | int16 | int32 | int64, B appender[T]](b array.Builder, v reflect.Value) error {
	b.(B).Append(T(v.Int()))
	return nil
}

func putUint[T uint8 | uint16 | uint32 | uint64, B appender[T]](b array.Builder, v reflect.Value) error {
	b.(B).Append(T(v.Uint()))
	return nil
}

func putText(b array.Builder, v reflect.Value) error {
	if v.Kind() == reflect.Slice {
		b.(*array.BinaryBuilder).Append(v.Bytes())
		return nil
	}
	b.(*array.BinaryBuilder).AppendString(v.String())
	return nil
}

// putAll appends a whole slice or array if its elements have type T itself.
func putAll[T any, B appender[T]](b array.Builder, v reflect.Value) bool {
	if v.Kind() == reflect.Array {
		if !v.CanAddr() {
			return false
		}
		v = v.Slice(0, v.Len())
	}
	values, ok := reflect.TypeAssert[[]T](v)
	if ok {
		b.(B).AppendValues(values, nil)
	}
	return ok
}
