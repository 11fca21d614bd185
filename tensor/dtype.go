package tensor

import "fmt"

// DType is an element type. Its numbers are those of TensorFlow's DataType enum
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

var dtypes = map[DType]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0}, Float32: {"float32", 4}, Float64: {"float64", 8}, Int32: {"int32", 4},
	Uint8: {"uint8", 1}, Int16: {"int16", 2}, Int8: {"int8", 1}, String: {"string", 0},
	Complex64: {"complex64", 8}, Int64: {"int64", 8}, Bool: {"bool", 1}, BFloat16: {"bfloat16", 2},
	Uint16: {"uint16", 2}, Complex128: {"complex128", 16}, Float16: {"float16", 2}, Resource: {"resource", 0}, Variant: {"variant", 0},
	Uint32: {"uint32", 4}, Uint64: {"uint64", 8},
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

// sizes has the sizes of dtypes by number: Size is asked for every tensor that is made.
var sizes = func() (s [32]int) {
	for d, e := range dtypes {
		s[d] = e.size
	}
	return s
}()

// Float reports whether d is a floating-point type.
func (d DType) Float() bool {
	return d == Float32 || d == Float64 || d == Float16 || d == BFloat16
}

// ParseDType returns the type of a name that String gives.
func ParseDType(name string) (DType, error) {
	for d, e := range dtypes {
		if e.name == name && d != Invalid {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown data type %q: expected one of float32, float64, int32, int64, uint8, bool, string, ...", name)
}
