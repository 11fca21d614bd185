package collective

import (
	"unsafe"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

const (
	// readBytes is how much of a message is read before it is added: it stays in the
	// second-level cache, and a system call for it costs little compared to the copy.
	readBytes = 256 << 10
	// blockBytes is how much is added at once: the kernels run on the calling goroutine.
	blockBytes = 16 << 10
)

// arithmetic has the operations of reductions on the bytes of a data type. The operands
// are aligned and of the same length.
type arithmetic struct {
	add    func(dst, src []byte)
	divide func(dst []byte, n int)
}

// arithmeticOf returns nil for a type that cannot be reduced.
func arithmeticOf(d tensor.DType) *arithmetic {
	switch d {
	case tensor.Float32:
		return &float32s
	case tensor.Float64:
		return &float64s
	case tensor.Int64:
		return &int64s
	}
	return nil
}

var (
	float32s = arithmetic{addFloats[float32], divideFloats[float32]}
	float64s = arithmetic{addFloats[float64], divideFloats[float64]}
	int64s   = arithmetic{addInts, divideInts}
)

func elements[T float32 | float64 | int64](b []byte) []T {
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}

func addFloats[T float32 | float64](dst, src []byte) {
	d := elements[T](dst)
	kernels.Binary(kernels.Add, d, d, elements[T](src))
}

func divideFloats[T float32 | float64](dst []byte, n int) {
	d := elements[T](dst)
	kernels.BinaryScalar(kernels.Div, d, d, T(n))
}

func addInts(dst, src []byte) {
	d := elements[int64](dst)
	for i, v := range elements[int64](src)[:len(d)] {
		d[i] += v
	}
}

func divideInts(dst []byte, n int) {
	d := elements[int64](dst)
	for i := range d {
		d[i] /= int64(n)
	}
}

// aligned returns n bytes that may hold elements of any type.
func aligned(n int) []byte { return tensor.New(tensor.Uint8, n).Bytes }
