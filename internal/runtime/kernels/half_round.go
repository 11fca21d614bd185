package kernels

import (
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// RoundHalf returns the binary16 number nearest to v, ties to even.
func RoundHalf(v float32) float32 {
	b := math.Float32bits(v)
	if b&0x7fffffff-0x38800000 < 0x477ff000-0x38800000 { // neither subnormal nor too large
		return math.Float32frombits((b + 0xfff + b>>13&1) &^ 0x1fff)
	}
	return tensor.Float16FromBits(tensor.Float16Bits(v))
}

// RoundBrain returns the bfloat16 number nearest to v, ties to even.
func RoundBrain(v float32) float32 { return tensor.BFloat16FromBits(tensor.BFloat16Bits(v)) }

// TruncateBrain returns v rounded toward zero to bfloat16.
func TruncateBrain(v float32) float32 {
	if v != v {
		return v
	}
	return math.Float32frombits(math.Float32bits(v) &^ 0xffff)
}

// AddProductHalf adds k*x[i] to y[i] for every i of y, on the calling goroutine. The product and the sum are rounded like RoundHalf.
func AddProductHalf(y, x []float32, k float32) {
	x = x[:len(y)]
	if simdAddProductHalf(y, x, k) {
		return
	}
	for i, v := range x {
		y[i] = RoundHalf(y[i] + RoundHalf(k*v))
	}
}
