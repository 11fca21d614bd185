package kernels

import "github.com/goestimator/goestimator/tensor"

// Half is a 16-bit float type.
type Half uint8

// The 16-bit float types.
const (
	Brain    Half = iota // bfloat16
	Binary16             // float16
)

// HalfOf returns the Half of an element type, false if the type is not a 16-bit float.
func HalfOf(d tensor.DType) (Half, bool) {
	switch d {
	case tensor.BFloat16:
		return Brain, true
	case tensor.Float16:
		return Binary16, true
	}
	return 0, false
}

// Widen sets dst[i] to the value of src[i], for every i of dst, on the calling goroutine. A signaling NaN becomes a quiet one.
func Widen(h Half, dst []float32, src []uint16) {
	src = src[:len(dst)]
	at := inBlocks(len(dst), func(from, to int) bool { return simdWidenHalves(h, dst[from:to], src[from:to]) })
	from := tensor.BFloat16FromBits
	if h == Binary16 {
		from = tensor.Float16FromBits
	}
	for i := at; i < len(dst); i++ {
		dst[i] = from(src[i])
	}
}

// Narrow sets dst[i] to the number nearest to src[i], ties to even, for every i of dst, on the calling goroutine.
func Narrow(h Half, dst []uint16, src []float32) {
	src = src[:len(dst)]
	at := inBlocks(len(dst), func(from, to int) bool { return simdNarrowHalves(h, dst[from:to], src[from:to]) })
	bits := tensor.BFloat16Bits
	if h == Binary16 {
		bits = tensor.Float16Bits
	}
	for i := at; i < len(dst); i++ {
		dst[i] = bits(src[i])
	}
}

// convertBlock is the number of elements that the vector kernels convert at once; internal/runtime/kernels/gen has it, too.
const convertBlock = 16

// inBlocks calls do for ranges of whole blocks of n elements, and returns the number of elements done. The last range may overlap
// the one before.
func inBlocks(n int, do func(from, to int) bool) int {
	if n < convertBlock {
		return 0
	}
	whole := n - n%convertBlock
	for at := 0; at < whole; at += copyCall {
		if !do(at, min(at+copyCall, whole)) {
			return 0
		}
	}
	if whole < n {
		do(n-convertBlock, n)
	}
	return n
}
