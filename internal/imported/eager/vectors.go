package eager

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// vectorOps are the ops whose vector kernels give the same bits.
var vectorOps = map[*ops.Def]kernels.BinaryOp{
	ops.Add: kernels.Add, ops.AddV2: kernels.Add, ops.Sub: kernels.Sub, ops.Mul: kernels.Mul, ops.Div: kernels.Div, ops.RealDiv: kernels.Div,
}

// vectors returns a kernel that uses the vector kernels of op on floats if shapes are equal, or if one operand is one element.
// Otherwise it calls slow.
func vectors[T float](op *ops.Def, slow kernel) kernel {
	v, ok := vectorOps[op]
	if !ok {
		return slow
	}
	return func(c call) error {
		a, b := c.t(0), c.t(1)
		if a.DType != b.DType {
			return slow(c)
		}
		x, y := tensor.Values[T](a), tensor.Values[T](b)
		switch {
		case slices.Equal(a.Shape, b.Shape):
			return overwrite(c, a.Shape, func(dst []T) { kernels.Binary(v, dst, x, y) })
		case len(y) == 1 && len(b.Shape) <= len(a.Shape):
			return overwrite(c, a.Shape, func(dst []T) { kernels.BinaryScalar(v, dst, x, y[0]) })
		case len(x) == 1 && len(a.Shape) <= len(b.Shape):
			return overwrite(c, b.Shape, func(dst []T) { kernels.ScalarBinary(v, dst, x[0], y) })
		}
		return slow(c)
	}
}

// overwrite allocates output 0, and f writes it.
func overwrite[T float](c call, shape []int, f func(dst []T)) error {
	t, err := c.overwritten(0, tensor.TypeOf[T](), shape...)
	if err == nil {
		f(tensor.Values[T](t))
	}
	return err
}

// vectorChanges are the changes of variables with vector kernels.
var vectorChanges = map[change]kernels.BinaryOp{addition: kernels.Add, subtraction: kernels.Sub, multiplication: kernels.Mul, division: kernels.Div}

// vector changes consecutive elements of dst by as many floats. It returns false for other changes and types.
func (how change) vector(d tensor.DType, dst, by []byte) bool {
	op, ok := vectorChanges[how]
	switch {
	case !ok:
	case d == tensor.Float32:
		changeVector[float32](op, d, dst, by)
		return true
	case d == tensor.Float64:
		changeVector[float64](op, d, dst, by)
		return true
	}
	return false
}

func changeVector[T float](op kernels.BinaryOp, d tensor.DType, dst, by []byte) {
	n := len(dst) / d.Size()
	x := tensor.Values[T](&tensor.Tensor{DType: d, Shape: []int{n}, Bytes: dst})
	kernels.Binary(op, x, x, tensor.Values[T](&tensor.Tensor{DType: d, Shape: []int{n}, Bytes: by}))
}
