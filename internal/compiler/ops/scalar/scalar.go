package scalar

import "math"

// Sigmoid returns 1/(1+e^-x).
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Softplus returns log(1+e^x) without overflow.
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Elu returns x where it is positive, else e^x - 1.
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

// Lgamma returns the logarithm of |Γ(x)|.
func Lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
