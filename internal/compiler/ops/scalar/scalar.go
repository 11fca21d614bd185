package scalar

import "math"

// Sigmoid returns 1/(1+e^-x).
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Softplus returns log(1+e^x) without overflow.
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Elu returns x if it is positive, else e^x - 1.
func Elu(x float64) float64 {
	if x < 0 {
		return math.Expm1(x)
	}
	return x
}

// Softsign returns x/(1+|x|).
func Softsign(x float64) float64 { return x / (1 + math.Abs(x)) }

// Rsqrt returns 1/√x.
func Rsqrt(x float64) float64 { return 1 / math.Sqrt(x) }

// Reciprocal returns 1/x.
func Reciprocal(x float64) float64 { return 1 / x }

// beyondExp is a bound from which the exponential may overflow although half of it does not.
const beyondExp = 709

// Cosh returns (e^x+e^-x)/2, up to the largest number.
func Cosh(x float64) float64 {
	if x = math.Abs(x); x > beyondExp {
		half := math.Exp(x / 2)
		return half / 2 * half
	}
	return math.Cosh(x)
}

// Sinh returns (e^x-e^-x)/2, up to the largest number.
func Sinh(x float64) float64 {
	if math.Abs(x) > beyondExp {
		return math.Copysign(Cosh(x), x)
	}
	return math.Sinh(x)
}

// Lgamma returns the logarithm of |Γ(x)|: infinity at both ends, as C has it.
func Lgamma(x float64) float64 {
	if math.IsInf(x, -1) {
		return -x
	}
	v, _ := math.Lgamma(x)
	return v
}
