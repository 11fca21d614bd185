package engine

import (
	"math"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// unaryOps are functions of one tensor, element by element, and the gradients of activations.
var unaryOps = map[string]opDef{
	"Neg":        unaryWithInts(kernels.Neg, negInt[int32], negInt[int64]),
	"Abs":        unaryWithInts(kernels.Abs, absInt[int32], absInt[int64]),
	"Sign":       unaryWithInts(kernels.Sign, signInt[int32], signInt[int64]),
	"Square":     unaryWithInts(kernels.Square, squareInt[int32], squareInt[int64]),
	"Sqrt":       unary(kernels.Sqrt),
	"Rsqrt":      unary(kernels.Rsqrt),
	"Reciprocal": unary(kernels.Reciprocal),
	"Inv":        unary(kernels.Reciprocal),
	"Exp":        unary(kernels.Exp),
	"Log":        unary(kernels.Log),
	"Log1p":      unary(kernels.Log1p),
	"Expm1":      unary(kernels.Expm1),
	"Floor":      unary(kernels.Floor),
	"Ceil":       unary(kernels.Ceil),
	"Erf":        unary(kernels.Erf),
	"Sin":        unary(kernels.Sin),
	"Cos":        unary(kernels.Cos),
	"Tanh":       unary(kernels.Tanh),
	"Sigmoid":    unary(kernels.Sigmoid),
	"Relu":       unary(kernels.Relu),
	"Relu6":      unary(kernels.Relu6),
	"Elu":        unary(kernels.Elu),
	"Softplus":   unary(kernels.Softplus),
	"Softsign":   unary(kernels.Softsign),
	"Round":      scalarUnaryOp(math.RoundToEven),
	"Selu":       {inplace: []int{0}, compile: floats(test(selu[float32]), test(selu[float64]))},
	"LeakyRelu":  {inplace: []int{0}, compile: floats(compileLeakyRelu[float32], compileLeakyRelu[float64])},
	"IsFinite":   {compile: floatsIn(finite[float32], finite[float64])},
	"IsNan":      {compile: floatsIn(test(notEqualSelf[float32]), test(notEqualSelf[float64]))},
	"IsInf":      {compile: floatsIn(test(infinite[float32]), test(infinite[float64]))},
	"LogicalNot": {inplace: []int{0}, compile: test(func(b bool) bool { return !b })},

	// The gradients take (y, dy) or (gradients, features) as TensorFlow's ops do; the kernels (dy, x).
	"SigmoidGrad":    gradOp(kernels.SigmoidGrad, 1, 0),
	"TanhGrad":       gradOp(kernels.TanhGrad, 1, 0),
	"SqrtGrad":       gradOp(kernels.SqrtGrad, 1, 0),
	"RsqrtGrad":      gradOp(kernels.RsqrtGrad, 1, 0),
	"ReciprocalGrad": gradOp(kernels.ReciprocalGrad, 1, 0),
	"InvGrad":        gradOp(kernels.ReciprocalGrad, 1, 0),
	"ReluGrad":       gradOp(kernels.ReluGrad, 0, 1),
	"Relu6Grad":      gradOp(kernels.Relu6Grad, 0, 1),
	"EluGrad":        gradOp(kernels.EluGrad, 0, 1),
	"SoftplusGrad":   gradOp(kernels.SoftplusGrad, 0, 1),
	"SeluGrad":       scalarGradOp(seluGrad[float32], seluGrad[float64]),
	"SoftsignGrad":   scalarGradOp(softsignGrad[float32], softsignGrad[float64]),
	"LeakyReluGrad":  {inplace: []int{0, 1}, compile: floats(compileLeakyReluGrad[float32], compileLeakyReluGrad[float64])},
}

// The constants of Klambauer et al., "Self-normalizing neural networks" (2017).
const (
	seluScale = 1.0507009873554804934193349852946
	seluAlpha = 1.6732632423543772848170429916717
)

// selu takes 1 from a rounded power as TensorFlow does: it is 0 where x is next to 0, and so is the gradient's kink.
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

// finite is test for each element's being finite, without a call of each: gradients of all variables pass it.
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

// gradOp is a kernel of (dy, x), found at the given inputs.
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
