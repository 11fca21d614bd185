package special

import "math"

// Float has the types that functions are computed in.
type Float interface{ float32 | float64 }

// These functions compute in the precision of the elements, as TensorFlow does: where a formula cancels, the rounding decides the result.
func logOf[T Float](x T) T   { return T(math.Log(float64(x))) }
func log1pOf[T Float](x T) T { return T(math.Log1p(float64(x))) }
func expOf[T Float](x T) T   { return T(math.Exp(float64(x))) }
func absOf[T Float](x T) T   { return T(math.Abs(float64(x))) }
func floorOf[T Float](x T) T { return T(math.Floor(float64(x))) }
func powOf[T Float](x, y T) T {
	return T(math.Pow(float64(x), float64(y)))
}

// normal returns x, or 0 if x is subnormal: TensorFlow flushes such numbers to zero.
func normal[T Float](x T) T {
	if absOf(x) < SmallestNormal[T]() {
		return T(math.Copysign(0, float64(x)))
	}
	return x
}

// single reports whether T has 32 bits.
func single[T Float]() bool { return T(1)+0x1p-30 == 1 }

// unit is half the distance from 1 to the next larger number.
func unit[T Float]() T {
	if single[T]() {
		return 0x1p-24
	}
	return 0x1p-53
}

// SmallestNormal is the smallest normal number of T.
func SmallestNormal[T Float]() T {
	if single[T]() {
		return 0x1p-126
	}
	least := 0x1p-1022
	return T(least)
}
