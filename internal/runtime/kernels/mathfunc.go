package kernels

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops/scalar"
)

func abs[T Float](v T) T { return T(math.Abs(float64(v))) }

func sqrt[T Float](v T) T { return T(math.Sqrt(float64(v))) }

func floor[T Float](v T) T { return T(math.Floor(float64(v))) }

func sign[T Float](v T) T {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	default:
		return v // 0, -0 or NaN
	}
}

// mathFuncs are the operations from Exp on. Float32 results are computed in float64 and rounded once.
var mathFuncs = [unaryCount]func(float64) float64{
	Exp:      math.Exp,
	Log:      math.Log,
	Log1p:    math.Log1p,
	Expm1:    math.Expm1,
	Sigmoid:  scalar.Sigmoid,
	Tanh:     math.Tanh,
	Softplus: scalar.Softplus,
	Elu:      scalar.Elu,
	Softsign: scalar.Softsign,
	Sin:      math.Sin,
	Cos:      math.Cos,
	Erf:      math.Erf,
}

// gradientFuncs are the operations from ReluGrad on, of (dy, x) or (dy, y).
var gradientFuncs = [binaryCount]func(dy, x float64) float64{
	ReluGrad:       func(dy, x float64) float64 { return dy * truth(x > 0) },
	Relu6Grad:      func(dy, x float64) float64 { return dy * truth(x > 0 && x < 6) },
	SigmoidGrad:    func(dy, y float64) float64 { return dy * y * (1 - y) },
	TanhGrad:       func(dy, y float64) float64 { return dy * (1 - y*y) },
	SqrtGrad:       unlessZero(func(dy, y float64) float64 { return dy * 0.5 / y }),
	RsqrtGrad:      unlessZero(func(dy, y float64) float64 { return dy * -0.5 * y * y * y }),
	ReciprocalGrad: unlessZero(func(dy, y float64) float64 { return -dy * y * y }),
	EluGrad:        eluGrad,
	SoftplusGrad:   func(dy, x float64) float64 { return dy * scalar.Sigmoid(x) },
	Pow:            math.Pow,
}

// truth returns 1 or 0, as a factor, so that a non-finite dy times 0 is NaN.
func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

// unlessZero returns f, except that the result is 0 if dy is 0, whatever the derivative.
func unlessZero(f func(dy, y float64) float64) func(dy, y float64) float64 {
	return func(dy, y float64) float64 {
		if dy == 0 {
			return 0
		}
		return f(dy, y)
	}
}

func eluGrad(dy, y float64) float64 {
	if y < 0 {
		return dy * (y + 1)
	}
	return dy
}
