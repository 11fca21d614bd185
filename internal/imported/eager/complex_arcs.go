package eager

import (
	"math"
	"math/cmplx"
)

// Functions of complex numbers of any magnitude, by W. Kahan, "Branch Cuts for Complex Elementary Functions" (1987): Go's own functions
// lose digits far from 1, and do not distinguish the sides of branch cuts.

// scaled is a·b, or 0 if a is 0: a zero sine hides an exponential that has overflowed.
func scaled(a, b float64) float64 {
	if a == 0 {
		return math.Copysign(0, a) * math.Copysign(1, b)
	}
	return a * b
}

func complexExp(z complex128) complex128 {
	s, c := math.Sincos(imag(z))
	e := math.Exp(real(z))
	return complex(scaled(c, e), scaled(s, e))
}

func complexSin(z complex128) complex128 {
	s, c := math.Sincos(real(z))
	return complex(scaled(s, math.Cosh(imag(z))), scaled(c, math.Sinh(imag(z))))
}

func complexCos(z complex128) complex128 {
	s, c := math.Sincos(real(z))
	return complex(scaled(c, math.Cosh(imag(z))), -scaled(s, math.Sinh(imag(z))))
}

func complexSinh(z complex128) complex128 {
	s, c := math.Sincos(imag(z))
	return complex(scaled(c, math.Sinh(real(z))), scaled(s, math.Cosh(real(z))))
}

func complexCosh(z complex128) complex128 {
	s, c := math.Sincos(imag(z))
	return complex(scaled(c, math.Cosh(real(z))), scaled(s, math.Sinh(real(z))))
}

// complexTanh is ±1 if the exponentials overflow.
func complexTanh(z complex128) complex128 {
	x, y := real(z), imag(z)
	if math.Abs(x) > 22 && !math.IsInf(y, 0) {
		return complex(math.Copysign(1, x), math.Copysign(0, math.Sin(2*y)))
	}
	return cmplx.Tanh(z)
}

func complexTan(z complex128) complex128 { return timesMinusI(complexTanh(timesI(z))) }

func timesI(z complex128) complex128      { return complex(-imag(z), real(z)) }
func timesMinusI(z complex128) complex128 { return complex(imag(z), -real(z)) }

// sides returns the square roots of 1-z and 1+z.
func sides(z complex128) (below, above complex128) {
	x, y := real(z), imag(z)
	return cmplx.Sqrt(complex(1-x, -y)), cmplx.Sqrt(complex(1+x, y))
}

func complexAsin(z complex128) complex128 {
	below, above := sides(z)
	return complex(math.Atan2(real(z), real(below)*real(above)-imag(below)*imag(above)), math.Asinh(real(below)*imag(above)-imag(below)*real(above)))
}

func complexAcos(z complex128) complex128 {
	below, above := sides(z)
	return complex(2*math.Atan2(real(below), real(above)), math.Asinh(real(above)*imag(below)-imag(above)*real(below)))
}

func complexAsinh(z complex128) complex128 { return timesMinusI(complexAsin(timesI(z))) }

// complexAcosh is ±i times complexAcos, with a nonnegative real part.
func complexAcosh(z complex128) complex128 {
	w := complexAcos(z)
	if math.Signbit(imag(z)) {
		return complex(math.Abs(imag(w)), -real(w))
	}
	return complex(math.Abs(imag(w)), real(w))
}

// complexAtanh computes the logarithm of the ratio of the distances from ±1, and the mean of the two angles.
func complexAtanh(z complex128) complex128 {
	x, y := math.Abs(real(z)), imag(z)
	if x > 1e150 || math.Abs(y) > 1e150 { // their squares overflow
		w := 1 / z
		return complex(real(w), math.Copysign(math.Pi/2, y))
	}
	re := math.Log1p(4*x/((1-x)*(1-x)+y*y)) / 4
	im := math.Atan2(2*y, (1-x)*(1+x)-y*y) / 2
	return complex(math.Copysign(re, real(z)), im)
}

func complexAtan(z complex128) complex128 { return timesMinusI(complexAtanh(timesI(z))) }
