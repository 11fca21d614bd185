package eager

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// leastUncleared is the size in bytes from which on it takes longer to clear memory than to see that one need not.
const leastUncleared = 32 << 10

// overwritten allocates output i of a kernel that writes all of its elements: they are of any content before.
func (c call) overwritten(i int, d tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := c.made(uncleared, d, shape...)
	if err != nil {
		return nil, err
	}
	c.set(i, t)
	return t, nil
}

// uncleared is tensor.New whose elements are of any content, but for strings and small tensors. A strings.Builder is the one
// thing in the standard library that has such memory.
func uncleared(d tensor.DType, shape ...int) *tensor.Tensor {
	size := tensor.NumElements(shape) * d.Size()
	if d == tensor.String || size < leastUncleared {
		return tensor.New(d, shape...)
	}
	var b strings.Builder
	b.Grow(size)
	_ = b.WriteByte(0) // so that there is a first byte to point to
	return &tensor.Tensor{DType: d, Shape: slices.Clone(shape), Bytes: unsafe.Slice(unsafe.StringData(b.String()), size)}
}
