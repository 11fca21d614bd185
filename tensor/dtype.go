package tensor

import "fmt"

// DType is an element type. It has the numbers of TensorFlow's DataType enum
// (tensorflow/core/framework/types.proto), so that conversion is the identity.
type DType int32

// The element types, numbered as in TensorFlow.
const (
	Invalid    DType = 0
	Float32    DType = 1
	Float64    DType = 2
	Int32      DType = 3
	Uint8      DType = 4
	Int16      DType = 5
	Int8       DType = 6
	String     DType = 7
	Complex64  DType = 8
	Int64      DType = 9
	Bool       DType = 10
	BFloat16   DType = 14
	Uint16     DType = 17
	Complex128 DType = 18
	Float16    DType = 19
	Resource   DType = 20
	Variant    DType = 21
	Uint32     DType = 22
	Uint64     DType = 23
)

// Element types that tensors can only hold: nothing computes with them. An Int4 or Uint4 takes a byte.
const (
	QInt8        DType = 11
	QUint8       DType = 12
	QInt32       DType = 13
	QInt16       DType = 15
	QUint16      DType = 16
	Float8E5M2   DType = 24
	Float8E4M3FN DType = 25
	Int4         DType = 29
	Uint4        DType = 30
)

var dtypes = map[DType]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0}, Float32: {"float32", 4}, Float64: {"float64", 8}, Int32: {"int32", 4},
	Uint8: {"uint8", 1}, Int16: {"int16", 2}, Int8: {"int8", 1}, String: {"string", 0},
	Complex64: {"complex64", 8}, Int64: {"int64", 8}, Bool: {"bool", 1}, BFloat16: {"bfloat16", 2},
	Uint16: {"uint16", 2}, Complex128: {"complex128", 16}, Float16: {"float16", 2}, Resource: {"resource", 0}, Variant: {"variant", 0},
	Uint32: {"uint32", 4}, Uint64: {"uint64", 8},
	QInt8: {"qint8", 1}, QUint8: {"quint8", 1}, QInt32: {"qint32", 4}, QInt16: {"qint16", 2}, QUint16: {"quint16", 2},
	Float8E5M2: {"float8_e5m2", 1}, Float8E4M3FN: {"float8_e4m3fn", 1}, Int4: {"int4", 1}, Uint4: {"uint4", 1},
}

// String returns the lower-case name that NumPy and TensorFlow use.
func (d DType) String() string {
	if e, ok := dtypes[d]; ok {
		return e.name
	}
	return fmt.Sprintf("dtype(%d)", int32(d))
}

// Size returns the bytes of one element, 0 for types without a fixed size.
func (d DType) Size() int {
	if d < 0 || int(d) >= len(sizes) {
		return 0
	}
	return sizes[d]
}

// sizes has the sizes of dtypes by number. It is a table since Size is called for every new tensor.
var sizes = func() (s [32]int) {
	for d, e := range dtypes {
		s[d] = e.size
	}
	return s
}()

// Float reports whether d is a floating-point type.
func (d DType) Float() bool {
	return d == Float32 || d == Float64 || d.Half()
}

// Half reports whether d is a floating-point type of 16 bits.
func (d DType) Half() bool { return d == Float16 || d == BFloat16 }

// ParseDType returns the type with the given name, as returned by String.
func ParseDType(name string) (DType, error) {
	for d, e := range dtypes {
		if e.name == name && d != Invalid {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown data type %q: expected one of float32, float64, int32, int64, uint8, bool, string, ...", name)
}
