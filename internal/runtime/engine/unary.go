package engine

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// unaryOps are functions of one tensor, element by element, and the gradients of activations.
var unaryOps = map[*ops.Def]opDef{
	ops.Neg:        unaryWithInts(kernels.Neg, negInt[int32], negInt[int64]),
	ops.Abs:        unaryWithInts(kernels.Abs, absInt[int32], absInt[int64]),
	ops.Sign:       unaryWithInts(kernels.Sign, signInt[int32], signInt[int64]),
	ops.Square:     unaryWithInts(kernels.Square, squareInt[int32], squareInt[int64]),
	ops.Sqrt:       unary(kernels.Sqrt),
	ops.Rsqrt:      unary(kernels.Rsqrt),
	ops.Reciprocal: unary(kernels.Reciprocal),
	ops.Inv:        unary(kernels.Reciprocal),
	ops.Exp:        unary(kernels.Exp),
	ops.Log:        unary(kernels.Log),
	ops.Log1p:      unary(kernels.Log1p),
	ops.Expm1:      unary(kernels.Expm1),
	ops.Floor:      unary(kernels.Floor),
	ops.Ceil:       unary(kernels.Ceil),
	ops.Erf:        unary(kernels.Erf),
	ops.Sin:        unary(kernels.Sin),
	ops.Cos:        unary(kernels.Cos),
	ops.Tanh:       unary(kernels.Tanh),
	ops.Sigmoid:    unary(kernels.Sigmoid),
	ops.Relu:       unary(kernels.Relu),
	ops.Relu6:      unary(kernels.Relu6),
	ops.Elu:        unary(kernels.Elu),
	ops.Softplus:   unary(kernels.Softplus),
	ops.Softsign:   unary(kernels.Softsign),
	ops.Round:      unary(kernels.Round),
	ops.Selu:       {inplace: []int{0}, compile: floats(test(selu[float32]), test(selu[float64]))},
	ops.LeakyRelu:  {inplace: []int{0}, compile: floats(compileLeakyRelu[float32], compileLeakyRelu[float64])},
	ops.IsFinite:   {compile: floatsIn(finite[float32], finite[float64])},
	ops.IsNan:      {compile: floatsIn(test(notEqualSelf[float32]), test(notEqualSelf[float64]))},
	ops.IsInf:      {compile: floatsIn(test(infinite[float32]), test(infinite[float64]))},
	ops.LogicalNot: {inplace: []int{0}, compile: test(func(b bool) bool { return !b })},

	// Like TensorFlow's ops, the gradients take (y, dy) or (gradients, features); the kernels take (dy, x).
	ops.SigmoidGrad:    gradOp(kernels.SigmoidGrad, 1, 0),
	ops.TanhGrad:       gradOp(kernels.TanhGrad, 1, 0),
	ops.SqrtGrad:       gradOp(kernels.SqrtGrad, 1, 0),
	ops.RsqrtGrad:      gradOp(kernels.RsqrtGrad, 1, 0),
	ops.ReciprocalGrad: gradOp(kernels.ReciprocalGrad, 1, 0),
	ops.InvGrad:        gradOp(kernels.ReciprocalGrad, 1, 0),
	ops.ReluGrad:       gradOp(kernels.ReluGrad, 0, 1),
	ops.Relu6Grad:      gradOp(kernels.Relu6Grad, 0, 1),
	ops.EluGrad:        gradOp(kernels.EluGrad, 0, 1),
	ops.SoftplusGrad:   gradOp(kernels.SoftplusGrad, 0, 1),
	ops.SeluGrad:       scalarGradOp(seluGrad[float32], seluGrad[float64]),
	ops.SoftsignGrad:   scalarGradOp(softsignGrad[float32], softsignGrad[float64]),
	ops.LeakyReluGrad:  {inplace: []int{0, 1}, compile: floats(compileLeakyReluGrad[float32], compileLeakyReluGrad[float64])},
}

// The constants of Klambauer et al., "Self-normalizing neural networks" (2017).
const (
	seluScale = 1.0507009873554804934193349852946
	seluAlpha = 1.6732632423543772848170429916717
)

// selu subtracts 1 from a rounded power, as TensorFlow does, so it is 0 for x very close to 0.
func selu[T kernels.Float](x T) T {
	if x < 0 {
		return seluScale * seluAlpha * (T(math.Exp(float64(x))) - 1)
	}
	return seluScale * x
}

// seluGrad takes the function's result y.
func seluGrad[T kernels.Float](dy, y T) T {
	if y < 0 {
		return dy * (y + seluScale*seluAlpha)
	}
	return dy * seluScale
}

func softsignGrad[T kernels.Float](dy, x T) T {
	if x < 0 {
		x = -x
	}
	return dy / ((1 + x) * (1 + x))
}

func notEqualSelf[T kernels.Float](x T) bool { return x != x }
func infinite[T kernels.Float](x T) bool     { return x == x && x-x != 0 }

func negInt[T int32 | int64](x T) T    { return -x }
func squareInt[T int32 | int64](x T) T { return x * x }
func absInt[T int32 | int64](x T) T    { return max(x, -x) }
func signInt[T int32 | int64](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func unary(op kernels.UnaryOp) opDef {
	return opDef{inplace: []int{0}, elemental: &elemental{op: int(op)}, compile: floats(kernelUnary[float32](op), kernelUnary[float64](op))}
}

func unaryWithInts(op kernels.UnaryOp, i32 func(int32) int32, i64 func(int64) int64) opDef {
	return opDef{inplace: []int{0}, elemental: &elemental{op: int(op)}, compile: byType(map[tensor.DType]compileFunc{
		tensor.Float32: kernelUnary[float32](op), tensor.Float64: kernelUnary[float64](op),
		tensor.Int32: test(i32), tensor.Int64: test(i64)}, out0)}
}

// definedOps are ops without kernels of their own, whose definitions have the function of one element for hosts and
// accelerators.
func definedOps() map[*ops.Def]opDef {
	defined := map[*ops.Def]opDef{}
	for _, d := range ops.Defs() {
		if e := d.Element; e.Float != nil && e.CUDA != "" && unaryOps[d].compile == nil {
			defined[d] = scalarUnaryOp(e.Float)
		}
	}
	return defined
}

func scalarUnaryOp(f func(float64) float64) opDef {
	return opDef{inplace: []int{0}, compile: floats(
		test(func(x float32) float32 { return float32(f(float64(x))) }), test(f))}
}

func kernelUnary[T kernels.Float](op kernels.UnaryOp) compileFunc {
	return func(c *binding) (runFunc, error) {
		in, out, err := sameAs[T, T](c, 1)
		if err != nil {
			return nil, err
		}
		x := in[0]
		return func() error { kernels.Unary(op, view[T](out), view[T](x)); return nil }, nil
	}
}

// test makes an op of a function of one element.
func test[T, R tensor.Element](f func(T) R) compileFunc {
	return func(c *binding) (runFunc, error) {
		in, out, err := sameAs[T, R](c, 1)
		if err != nil {
			return nil, err
		}
		x := in[0]
		do := parallel(dearGrain, func(lo, hi int) {
			d := view[R](out)[lo:hi]
			for i, e := range view[T](x)[lo:hi] {
				d[i] = f(e)
			}
		})
		return func() error { do(out.n); return nil }, nil
	}
}

// finite is IsFinite without a function call for each element, as the gradients of all variables pass through it.
func finite[T kernels.Float](c *binding) (runFunc, error) {
	in, out, err := sameAs[T, bool](c, 1)
	if err != nil {
		return nil, err
	}
	x := in[0]
	do := parallel(dearGrain, func(lo, hi int) {
		from := view[T](x)[lo:hi]
		to := view[bool](out)[lo:hi][:len(from)]
		for i, e := range from {
			to[i] = e-e == 0
		}
	})
	return func() error { do(out.n); return nil }, nil
}

// gradOp is a kernel of (dy, x), whose operands are the inputs dy and x.
func gradOp(op kernels.BinaryOp, dy, x int) opDef {
	return opDef{inplace: []int{0, 1}, elemental: &elemental{binary: true, op: int(op), first: dy, second: x},
		compile: floats(kernelGrad[float32](op, dy, x), kernelGrad[float64](op, dy, x))}
}

func kernelGrad[T kernels.Float](op kernels.BinaryOp, dy, x int) compileFunc {
	return func(c *binding) (runFunc, error) {
		in, out, err := sameAs[T, T](c, 2)
		if err != nil {
			return nil, err
		}
		return func() error {
			kernels.Binary(op, view[T](out), view[T](in[dy]), view[T](in[x]))
			return nil
		}, nil
	}
}

func scalarGradOp(f32 func(dy, x float32) float32, f64 func(dy, x float64) float64) opDef {
	return opDef{inplace: []int{0, 1}, compile: floats(scalarBinary(f32), scalarBinary(f64))}
}

func compileLeakyRelu[T kernels.Float](c *binding) (runFunc, error) {
	in, out, err := sameAs[T, T](c, 1)
	alpha := T(c.node.Float("alpha", 0.2))
	return func() error { kernels.LeakyRelu(view[T](out), view[T](in[0]), alpha); return nil }, err
}

func compileLeakyReluGrad[T kernels.Float](c *binding) (runFunc, error) {
	in, out, err := sameAs[T, T](c, 2)
	alpha := T(c.node.Float("alpha", 0.2))
	return func() error {
		kernels.LeakyReluGrad(view[T](out), view[T](in[0]), view[T](in[1]), alpha)
		return nil
	}, err
}
