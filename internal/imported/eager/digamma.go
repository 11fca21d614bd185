package eager

import (
	"math"

	elementwise "github.com/goestimator/goestimator/internal/compiler/ops/scalar"
)

// Functions in the precision of the elements, as TensorFlow computes them: where a formula cancels, its rounding decides the result.
func logOf[T float](x T) T   { return T(math.Log(float64(x))) }
func log1pOf[T float](x T) T { return T(math.Log1p(float64(x))) }
func expOf[T float](x T) T   { return T(math.Exp(float64(x))) }
func absOf[T float](x T) T   { return T(math.Abs(float64(x))) }
func floorOf[T float](x T) T { return T(math.Floor(float64(x))) }
func powOf[T float](x, y T) T {
	return T(math.Pow(float64(x), float64(y)))
}

// lgammaOf is the logarithm of |Γ(x)|. That of a float32 is a sum of rounded parts as in C's library: where it is large its exponential shows them.
func lgammaOf[T float](x T) T {
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

// normal is x, and 0 where x is no normal number: TensorFlow's processors take it for that.
func normal[T float](x T) T {
	if absOf(x) < smallestNormal[T]() {
		return T(math.Copysign(0, float64(x)))
	}
	return x
}

// single reports whether T has 32 bits.
func single[T float]() bool { return T(1)+0x1p-30 == 1 }

// unit is half the distance from 1 to the next number.
func unit[T float]() T {
	if single[T]() {
		return 0x1p-24
	}
	return 0x1p-53
}

// smallestNormal is the smallest normal number.
func smallestNormal[T float]() T {
	if single[T]() {
		return 0x1p-126
	}
	least := 0x1p-1022
	return T(least)
}

// digamma is the derivative of the logarithm of the gamma function: by recurrence up to 10, then by its asymptotic series (DLMF 5.11.2). It is NaN
// at the poles, 0 among them.
func digamma[T float](x T) T {
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

func digammaAbove[T float](x T) T {
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
