package eager

import (
	"fmt"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/tensor"
)

// stringHeader is the size of a tensor's string without its bytes.
const stringHeader = int(unsafe.Sizeof([]byte(nil)))

// Bounds of shapes. maxRank is TensorFlow's. In a tensor without elements, the
// other sizes are bounded too, because kernels loop over them.
const (
	maxRank     = 254
	maxElements = 1 << 60
	maxEmpty    = 1 << 28
)

// elements returns the number of elements of a shape. It fails if a dimension
// is negative or the product overflows.
func elements(shape []int) (int, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("expected at most %d dimensions, got %d", maxRank, len(shape))
	}
	n, rows, zero := uint64(1), uint64(0), false
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v: expected no negative dimension", shape)
		}
		if d == 0 {
			if !zero {
				zero, rows = true, n
			}
			continue
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > maxElements {
			return 0, fmt.Errorf("shape %v: %w: the number of elements overflows", shape, ErrLimit)
		}
		n = lo
	}
	if !zero {
		return int(n), nil
	}
	if rows > maxEmpty { // the work of many kernels grows with them
		return 0, fmt.Errorf("shape %v: %w: more than %d rows without elements", shape, ErrLimit, maxEmpty)
	}
	return 0, nil
}

// wide reports whether a tensor has no elements, but other sizes with a huge product.
func wide(t *tensor.Tensor) bool {
	n := uint64(1)
	for _, d := range t.Shape {
		hi, lo := bits.Mul64(n, uint64(max(d, 1)))
		if n = lo; hi != 0 || n > maxEmpty {
			return slices.Contains(t.Shape, 0)
		}
	}
	return false
}

// takesWide reports whether the work of an op depends on its elements alone. The work of others, such as sums along an axis, grows with
// the other sizes even if there are no elements.
func takesWide(d *ops.Def) bool {
	switch d.Name {
	case "Identity", "IdentityN", "Reshape", "ExpandDims", "Squeeze", "Cast", "ConcatV2", "Softmax", "MatMul", "BiasAdd":
		return true
	}
	return d.ByShape || d.Shape == ops.Broadcast || d.Element.Float != nil || d.Element.CUDA != ""
}

// room fails unless n things of the given size, which are about to be allocated, are within the limit and can be paid for.
func (c call) room(n, size int) error {
	if limit := c.env.limit(); n > limit/size {
		return fmt.Errorf("%w: %d times %d bytes, the limit is %d", ErrLimit, n, size, limit)
	}
	return c.pay(n * size)
}

// alloc returns a zeroed tensor within the limit.
func (c call) alloc(d tensor.DType, shape ...int) (*tensor.Tensor, error) {
	return c.made(tensor.New, d, shape...)
}

// made returns the result of make, within the limit.
func (c call) made(make func(d tensor.DType, shape ...int) *tensor.Tensor, d tensor.DType, shape ...int) (*tensor.Tensor, error) {
	n, err := elements(shape)
	if err != nil {
		return nil, err
	}
	size := d.Size()
	if d == tensor.String {
		size = stringHeader
	}
	if size == 0 {
		return nil, fmt.Errorf("elements of type %v %w", d, ErrUnsupported)
	}
	if err := c.room(n, size); err != nil {
		return nil, fmt.Errorf("%v of shape %v: %w", d, shape, err)
	}
	t := make(d, shape...)
	c.keep(t, n*size)
	return t, nil
}

// output allocates output i.
func (c call) output(i int, d tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := c.alloc(d, shape...)
	if err != nil {
		return nil, err
	}
	c.out[i] = Value{T: t}
	return t, nil
}

// t returns the tensor of input i.
func (c call) t(i int) *tensor.Tensor { return c.in[i].T }

// set sets output i to t.
func (c call) set(i int, t *tensor.Tensor) { c.out[i] = Value{T: t} }

// reshaped returns a view of t with another shape of the same size.
func reshaped(t *tensor.Tensor, shape ...int) *tensor.Tensor {
	return &tensor.Tensor{DType: t.DType, Shape: shape, Bytes: t.Bytes, Strings: t.Strings}
}

// want fails unless t has the given type.
func want(what string, t *tensor.Tensor, d tensor.DType) error {
	if t.DType != d {
		return fmt.Errorf("%s: expected type %v, got %v", what, d, t.DType)
	}
	return nil
}

// rank fails unless t has r dimensions.
func rank(what string, t *tensor.Tensor, r int) error {
	if len(t.Shape) != r {
		return fmt.Errorf("%s: expected rank %d, got shape %v", what, r, t.Shape)
	}
	return nil
}

// intBytes is the size of an int.
const intBytes = bits.UintSize / 8

// maxFew bounds the number of shapes, axes and the like, which are copied without paying.
const maxFew = 4 * maxRank

// integers returns the elements of a small int32 or int64 tensor as ints; [call.integers] takes any size.
func integers(what string, t *tensor.Tensor) ([]int, error) {
	if t.Len() > maxFew {
		return nil, fmt.Errorf("%s: %w: expected at most %d numbers, got %d", what, ErrLimit, maxFew, t.Len())
	}
	return ints(what, t)
}

func ints(what string, t *tensor.Tensor) ([]int, error) {
	out, err := convert.Ints(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// vector returns the elements of a small int32 or int64 vector as ints.
func vector(what string, t *tensor.Tensor) ([]int, error) {
	if err := rank(what, t, 1); err != nil {
		return nil, err
	}
	return integers(what, t)
}

// integers returns the elements of an int32 or int64 tensor as ints, and pays for them.
func (c call) integers(what string, t *tensor.Tensor) ([]int, error) {
	if n := intBytes * t.Len(); n >= leastPaid {
		if err := c.pay(n); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	return ints(what, t)
}

// vector returns the elements of an int32 or int64 vector as ints, and pays for them.
func (c call) vector(what string, t *tensor.Tensor) ([]int, error) {
	if err := rank(what, t, 1); err != nil {
		return nil, err
	}
	return c.integers(what, t)
}

// integer returns the element of an integer scalar.
func integer(what string, t *tensor.Tensor) (int, error) {
	if err := rank(what, t, 0); err != nil {
		return 0, err
	}
	switch t.DType {
	case tensor.Int32:
		return int(tensor.Values[int32](t)[0]), nil
	case tensor.Int64:
		return int(tensor.Values[int64](t)[0]), nil
	}
	return 0, fmt.Errorf("%s: expected int32 or int64, got %v", what, t.DType)
}

// text returns the element of a string scalar.
func text(what string, t *tensor.Tensor) ([]byte, error) {
	if t.DType != tensor.String || len(t.Strings) != 1 || len(t.Shape) != 0 {
		return nil, fmt.Errorf("%s: expected one string, got %v of shape %v", what, t.DType, t.Shape)
	}
	return t.Strings[0], nil
}

// axis returns a dimension's index in [0, rank); negative ones count from the end.
func axis(what string, v, rank int) (int, error) {
	if v < -rank || v >= rank {
		return 0, fmt.Errorf("%s: expected a dimension in [%d, %d), got %d", what, -rank, rank, v)
	}
	if v < 0 {
		v += rank
	}
	return v, nil
}

// only returns the only element of an integer tensor of any rank.
func only(what string, t *tensor.Tensor) (int, error) {
	if t.Len() != 1 {
		return 0, fmt.Errorf("%s: expected one element, got shape %v", what, t.Shape)
	}
	return integer(what, reshaped(t))
}

// axisOf is axis for the only element of t.
func axisOf(what string, t *tensor.Tensor, rank int) (int, error) {
	v, err := only(what, t)
	if err != nil {
		return 0, err
	}
	return axis(what, v, rank)
}

// setInts fills an int32 or int64 tensor.
func setInts(t *tensor.Tensor, v []int) error {
	switch t.DType {
	case tensor.Int32:
		dst := tensor.Values[int32](t)
		for i, x := range v {
			dst[i] = int32(x)
		}
	case tensor.Int64:
		dst := tensor.Values[int64](t)
		for i, x := range v {
			dst[i] = int64(x)
		}
	default:
		return fmt.Errorf("expected int32 or int64, got %v", t.DType)
	}
	return nil
}

// outputInts sets output i to a tensor of integers.
func (c call) outputInts(i int, d tensor.DType, v []int, shape ...int) error {
	t, err := c.output(i, d, shape...)
	if err != nil {
		return err
	}
	return setInts(t, v)
}

// scalarInt sets output i to one integer.
func (c call) scalarInt(i int, d tensor.DType, v int) error { return c.outputInts(i, d, []int{v}) }

// product returns the product of dimensions, which must not overflow.
func product(dims []int) int { return tensor.NumElements(dims) }
