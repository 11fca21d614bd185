package special

import (
	"math"

	elementwise "github.com/goestimator/goestimator/internal/compiler/ops/scalar"
)

// Lgamma is the logarithm of |Γ(x)|. For float32 it is a sum of rounded parts, as in C's library; where it is large, its exponential shows this.
func Lgamma[T Float](x T) T {
	whole := elementwise.Lgamma
	switch {
	case !single[T]() || !(x > 0) || x >= 0.9 && x < 2 || math.IsInf(float64(x), 1):
		return T(whole(float64(x)))
	case x < 0.9:
		return T(whole(1+float64(x))) - logOf(x)
	case x < 8:
		part := x - floorOf(x)
		factor := T(1)
		for k := floorOf(x) - 1; k >= 2; k-- {
			factor *= part + k
		}
		return T(whole(2+float64(part))) + logOf(factor)
	case x < 1<<58:
		tail := whole(float64(x)) - (float64(x)-0.5)*(math.Log(float64(x))-1)
		return T((x-0.5)*(logOf(x)-1)) + T(tail)
	}
	return x * (logOf(x) - 1)
}

// Digamma is the derivative of the logarithm of the gamma function: by recurrence up to 10, then by its asymptotic series (DLMF 5.11.2).
// It is NaN at the poles, including 0.
func Digamma[T Float](x T) T {
	if x > 0 || x != x {
		return digammaAbove(x)
	}
	near := T(math.RoundToEven(float64(x)))
	switch part := x - near; {
	case part == 0 || x-x != 0:
		return T(math.NaN())
	case absOf(part) == 0.5: // the tangent's pole
		return digammaAbove(1 - x)
	default:
		return digammaAbove(1-x) - math.Pi/T(math.Tan(float64(math.Pi*part)))
	}
}

func digammaAbove[T Float](x T) T {
	var sum T
	for ; x < 10; x++ {
		sum += 1 / x
	}
	y := 1 / (x * x)
	var tail T
	switch {
	case !single[T]():
		tail = y * (1.0/12 - y*(1.0/120-y*(1.0/252-y*(1.0/240-y*(1.0/132-y*(691.0/32760-y/12))))))
	case x < 1e8: // where x² has not overflowed
		tail = y * (1.0/12 - y*(1.0/120-y*(1.0/252-y/240)))
	}
	return logOf(x) - 0.5/x - tail - sum
}
