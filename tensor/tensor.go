package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Tensor is a dense tensor in host memory. Numeric elements are in Bytes, row-major and
// little-endian; strings are in Strings. A Tensor may be a view of memory that another
// object owns (an Arrow buffer, a variable). The function that returns such a Tensor
// documents how long it is valid.
type Tensor struct {
	DType   DType
	Shape   []int // empty: a scalar
	Bytes   []byte
	Strings [][]byte
}

// Element is a Go type that a numeric Tensor may hold.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | bool | complex64 | complex128
}

// TypeOf returns the DType whose elements are of type T.
func TypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int8:
		return Int8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case uint32:
		return Uint32
	case uint64:
		return Uint64
	case bool:
		return Bool
	case complex64:
		return Complex64
	case complex128:
		return Complex128
	}
	return Invalid
}

// New returns a zeroed tensor (empty strings for String).
func New(d DType, shape ...int) *Tensor {
	n := NumElements(shape)
	if d == String {
		t := &Tensor{DType: d, Shape: append([]int(nil), shape...)}
		t.Strings = make([][]byte, n)
		return t
	}
	size := n * d.Size()
	if len(shape) <= smallRank && size <= 8*smallWords {
		s := &small{Tensor: Tensor{DType: d}}
		if len(shape) > 0 { // a scalar's shape is nil
			s.Shape = s.shape[:len(shape):len(shape)]
			copy(s.Shape, shape)
		}
		s.Bytes = unsafe.Slice((*byte)(unsafe.Pointer(&s.words)), 8*smallWords)[:size:size]
		return &s.Tensor
	}
	// Backed by 8-byte words, so that views of any element type are aligned.
	words := make([]uint64, (size+7)/8)
	return &Tensor{DType: d, Shape: append([]int(nil), shape...), Bytes: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)}
}

// small is a tensor with its shape and elements in one allocation: models of feature
// columns make hundreds of these for a request.
type small struct {
	Tensor
	shape [smallRank]int
	words [smallWords]uint64
}

const smallRank, smallWords = 2, 2

// FromSlice returns a tensor of the given shape that aliases data.
// It fails if the number of elements differs.
func FromSlice[T Element](data []T, shape ...int) (*Tensor, error) {
	if n := NumElements(shape); n != len(data) {
		return nil, fmt.Errorf("shape %v holds %d elements, got %d", shape, n, len(data))
	}
	var z T
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(z)))
	return &Tensor{DType: TypeOf[T](), Shape: append([]int(nil), shape...), Bytes: b}, nil
}

// Scalar returns a tensor of rank 0.
func Scalar[T Element](v T) *Tensor {
	t, _ := FromSlice([]T{v})
	return t
}

// FromStrings returns a tensor of byte strings; shape must have len(values) elements.
func FromStrings(values [][]byte, shape ...int) (*Tensor, error) {
	if n := NumElements(shape); n != len(values) {
		return nil, fmt.Errorf("shape %v holds %d elements, got %d strings", shape, n, len(values))
	}
	return &Tensor{DType: String, Shape: append([]int(nil), shape...), Strings: values}, nil
}

// NormalizeBools turns every nonzero byte of booleans into 1, as Go and kernels expect. Bytes from outside may have any value.
func NormalizeBools(b []byte) {
	for i := range b {
		b[i] = min(b[i], 1)
	}
}

// Values returns t's elements as a slice that aliases t, or nil if t's elements are not of type T.
func Values[T Element](t *Tensor) []T {
	if t.DType != TypeOf[T]() || len(t.Bytes) == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(t.Bytes))), len(t.Bytes)/int(unsafe.Sizeof(z)))
}

// Len returns the number of elements.
func (t *Tensor) Len() int { return NumElements(t.Shape) }

// StringHeader is the number of bytes that a tensor takes for each string in addition to its text: the size of a []byte.
const StringHeader = 24

// MemoryBytes returns the number of bytes that the elements of t take.
func (t *Tensor) MemoryBytes() int {
	n := len(t.Bytes)
	for _, s := range t.Strings {
		n += StringHeader + len(s)
	}
	return n
}

// Clone returns a deep copy.
func (t *Tensor) Clone() *Tensor {
	c := New(t.DType, t.Shape...)
	copy(c.Bytes, t.Bytes)
	for i, s := range t.Strings {
		c.Strings[i] = append([]byte(nil), s...)
	}
	return c
}

// NumElements returns the product of shape's dimensions, 1 for a scalar.
func NumElements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Float returns numeric element i as a float64.
func (t *Tensor) Float(i int) float64 {
	switch t.DType {
	case Float32:
		return float64(Values[float32](t)[i])
	case Float64:
		return Values[float64](t)[i]
	case Float16:
		return float64(Float16FromBits(t.bits16(i)))
	case BFloat16:
		return float64(BFloat16FromBits(t.bits16(i)))
	case Int32:
		return float64(Values[int32](t)[i])
	case Int64:
		return float64(Values[int64](t)[i])
	case Uint8:
		return float64(Values[uint8](t)[i])
	case Int8:
		return float64(Values[int8](t)[i])
	case Int16:
		return float64(Values[int16](t)[i])
	case Uint16:
		return float64(Values[uint16](t)[i])
	case Uint32:
		return float64(Values[uint32](t)[i])
	case Uint64:
		return float64(Values[uint64](t)[i])
	case Bool:
		if Values[bool](t)[i] {
			return 1
		}
		return 0
	}
	return math.NaN()
}

// bits16 returns the bits of element i of a 16-bit type.
func (t *Tensor) bits16(i int) uint16 { return binary.NativeEndian.Uint16(t.Bytes[2*i:]) }

// Int returns element i of a tensor of integers or booleans exactly, except that uint64
// values from 2^63 on wrap. For other types it returns 0.
func (t *Tensor) Int(i int) int64 {
	switch t.DType {
	case Int64:
		return Values[int64](t)[i]
	case Uint64:
		return int64(Values[uint64](t)[i])
	case Int32, Int16, Int8, Uint32, Uint16, Uint8, Bool:
		return int64(t.Float(i))
	}
	return 0
}

// Row returns element i of dimension 0 as a view that aliases t.
func (t *Tensor) Row(i int) *Tensor {
	r := &Tensor{DType: t.DType, Shape: t.Shape[1:]}
	n := NumElements(r.Shape)
	if t.DType == String {
		r.Strings = t.Strings[i*n : (i+1)*n]
		return r
	}
	n *= t.DType.Size()
	r.Bytes = t.Bytes[i*n : (i+1)*n]
	return r
}
