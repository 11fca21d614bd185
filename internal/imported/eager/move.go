package eager

import (
	"fmt"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// cells views a tensor's elements as cells of T's size, to move them
// whatever their type.
func cells[T any](t *tensor.Tensor) []T {
	if s, ok := any(&t.Strings).(*[]T); ok {
		return *s
	}
	if len(t.Bytes) == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(t.Bytes))), len(t.Bytes)/int(unsafe.Sizeof(z)))
}

// copyCells copies n elements of src, from index i, to dst, from index j; both have the same type.
func copyCells(dst *tensor.Tensor, j int, src *tensor.Tensor, i, n int) {
	if src.DType == tensor.String {
		copy(dst.Strings[j:j+n], src.Strings[i:i+n])
		return
	}
	size := src.DType.Size()
	copy(dst.Bytes[j*size:(j+n)*size], src.Bytes[i*size:(i+n)*size])
}

// fillCells sets all elements of dst to element i of src.
func fillCells(dst, src *tensor.Tensor, i int) {
	n := dst.Len()
	if n == 0 {
		return
	}
	copyCells(dst, 0, src, i, 1)
	for done := 1; done < n; done *= 2 {
		copyCells(dst, done, dst, 0, min(done, n-done))
	}
}

// stride says where the elements of a box lie in a tensor: element
// [i0,i1,...] at base + i0·steps[0] + i1·steps[1] + ...
type stride struct {
	base  int
	steps []int
}

// contiguous returns the strides of a row-major tensor.
func contiguous(shape []int) stride {
	s := stride{steps: make([]int, len(shape))}
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s.steps[i] = n
		n *= shape[i]
	}
	return s
}

// copyBox copies a box of elements from one tensor to another.
func copyBox(shape []int, dst *tensor.Tensor, to stride, src *tensor.Tensor, from stride) error {
	if product(shape) == 0 {
		return nil
	}
	switch b := (box{shape, to.steps, from.steps}); {
	case src.DType == tensor.String:
		copyBoxOf(b, dst.Strings[to.base:], src.Strings, from.base)
	case src.DType.Size() == 1:
		copyBoxOf(b, cells[uint8](dst)[to.base:], cells[uint8](src), from.base)
	case src.DType.Size() == 2:
		copyBoxOf(b, cells[uint16](dst)[to.base:], cells[uint16](src), from.base)
	case src.DType.Size() == 4:
		copyBoxOf(b, cells[uint32](dst)[to.base:], cells[uint32](src), from.base)
	case src.DType.Size() == 8:
		copyBoxOf(b, cells[uint64](dst)[to.base:], cells[uint64](src), from.base)
	case src.DType.Size() == 16:
		copyBoxOf(b, cells[complex128](dst)[to.base:], cells[complex128](src), from.base)
	default:
		return fmt.Errorf("elements of type %v %w", src.DType, ErrUnsupported)
	}
	return nil
}

// box is the iteration space of copyBox.
type box struct{ shape, to, from []int }

// copyBoxOf copies src's elements from base on; dst's steps are not negative.
func copyBoxOf[T any](b box, dst, src []T, base int) {
	switch len(b.shape) {
	case 0:
		dst[0] = src[base]
	case 1:
		n, to, from := b.shape[0], b.to[0], b.from[0]
		if to == 1 && from == 1 {
			copy(dst[:n], src[base:base+n])
			return
		}
		for i, j := 0, 0; i < n; i++ {
			dst[j] = src[base]
			j += to
			base += from
		}
	default:
		rest := box{b.shape[1:], b.to[1:], b.from[1:]}
		for i := range b.shape[0] {
			copyBoxOf(rest, dst[i*b.to[0]:], src, base+i*b.from[0])
		}
	}
}
