package kernels

import "math"

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

// mathFunc returns the function of an operation from Exp on, computed in float64 and rounded once.
func mathFunc[T Float](op UnaryOp) func(T) T {
	switch op {
	case Exp:
		return func(v T) T { return T(math.Exp(float64(v))) }
	case Log:
		return func(v T) T { return T(math.Log(float64(v))) }
	case Log1p:
		return func(v T) T { return T(math.Log1p(float64(v))) }
	case Expm1:
		return func(v T) T { return T(math.Expm1(float64(v))) }
	case Sigmoid:
		return func(v T) T { return T(1 / (1 + math.Exp(-float64(v)))) }
	case Tanh:
		return func(v T) T { return T(math.Tanh(float64(v))) }
	case Softplus:
		return func(v T) T { return T(softplus(float64(v))) }
	case Elu:
		return elu[T]
	case Softsign:
		return func(v T) T { return v / (1 + abs(v)) }
	case Sin:
		return func(v T) T { return T(math.Sin(float64(v))) }
	case Cos:
		return func(v T) T { return T(math.Cos(float64(v))) }
	default:
		return func(v T) T { return T(math.Erf(float64(v))) }
	}
}

// softplus is log(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func elu[T Float](v T) T {
	if v < 0 {
		return T(math.Expm1(float64(v)))
	}
	return v
}
