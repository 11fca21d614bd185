package eager

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/goestimator/goestimator/tensor"
)

// leastUncleared is the size in bytes from which clearing memory takes longer than avoiding it.
const leastUncleared = 32 << 10

// overwritten allocates output i of a kernel that writes all of its elements, whose content is undefined until then.
func (c call) overwritten(i int, d tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := c.made(uncleared, d, shape...)
	if err != nil {
		return nil, err
	}
	c.set(i, t)
	return t, nil
}

// uncleared is tensor.New with elements of undefined content, except for strings and small tensors. In the standard library,
// only a strings.Builder has such memory.
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
