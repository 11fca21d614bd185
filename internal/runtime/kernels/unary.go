package kernels

import "math"

// UnaryOp names a function of one vector.
type UnaryOp uint8

// The unary operations. All give NaN for NaN.
const (
	Neg UnaryOp = iota
	Abs
	Sign // -1, 0, 1; NaN for NaN
	Square
	Sqrt
	Rsqrt
	Reciprocal
	Relu
	Relu6
	Floor
	Ceil
	Round        // to the nearest integer, ties to even
	NearestBrain // to the nearest bfloat16: see RoundBrain
	CutBrain     // toward zero to bfloat16: see TruncateBrain
	NearestHalf  // to the nearest float16: see RoundHalf
	Exp
	Log
	Log1p
	Expm1
	Sigmoid
	Tanh
	Softplus
	Elu
	Softsign
	Sin
	Cos
	Erf
	unaryCount
)

// Unary sets dst[i] = op(x[i]) for every i of dst. dst may be x.
func Unary[T Float](op UnaryOp, dst, x []T) {
	_ = x[:len(dst)]
	if op >= unaryCount {
		panic("kernels: unknown unary operation")
	}
	s := newSpan[T](&doUnary)
	s.op, s.dst, s.a = int(op), dst, x
	s.do(len(dst), unaryGrain(op))
}

func unaryGrain(op UnaryOp) int {
	if op >= Exp {
		return mathGrain
	}
	return elementGrain
}

var doUnary = spanFunc{runUnary[float32], runUnary[float64]}

func runUnary[T Float](s *span[T], lo, hi int) {
	unaryRange(UnaryOp(s.op), s.dst[lo:hi], s.a[lo:hi])
}

// unaryRange is Unary on the calling goroutine.
func unaryRange[T Float](op UnaryOp, dst, x []T) {
	if ((op != Sin && op != Cos) || turnable(x)) && simdUnary(op, dst, x) {
		return
	}
	if op < Exp {
		unaryCheap(op, dst, x)
		return
	}
	f := mathFuncs[op]
	for i, v := range x[:len(dst)] {
		dst[i] = T(f(float64(v)))
	}
}

// mostTurned is the largest angle for which the kernels of sine and cosine are valid.
const mostTurned = 65536

// turnable reports whether all angles are valid for the kernels of sine and cosine.
func turnable[T Float](x []T) bool {
	for _, v := range x {
		if !(abs(v) <= mostTurned) {
			return false
		}
	}
	return true
}

// unaryCheap does the operations that need no mathematical library.
func unaryCheap[T Float](op UnaryOp, dst, x []T) {
	x = x[:len(dst)]
	switch op {
	case Neg:
		for i, v := range x {
			dst[i] = -v
		}
	case Abs:
		for i, v := range x {
			dst[i] = abs(v)
		}
	case Sign:
		for i, v := range x {
			dst[i] = sign(v)
		}
	case Square:
		for i, v := range x {
			dst[i] = v * v
		}
	case Sqrt:
		for i, v := range x {
			dst[i] = sqrt(v)
		}
	case Rsqrt:
		for i, v := range x {
			dst[i] = 1 / sqrt(v)
		}
	case Reciprocal:
		for i, v := range x {
			dst[i] = 1 / v
		}
	case Relu:
		for i, v := range x {
			dst[i] = max(v, 0)
		}
	case Relu6:
		for i, v := range x {
			dst[i] = min(max(v, 0), 6)
		}
	case Floor:
		for i, v := range x {
			dst[i] = floor(v)
		}
	case Ceil:
		for i, v := range x {
			dst[i] = -floor(-v)
		}
	case Round:
		for i, v := range x {
			dst[i] = T(math.RoundToEven(float64(v)))
		}
	case NearestBrain:
		eachRounded(RoundBrain, dst, x)
	case CutBrain:
		eachRounded(TruncateBrain, dst, x)
	case NearestHalf:
		eachRounded(RoundHalf, dst, x)
	}
}

func eachRounded[T Float](f func(float32) float32, dst, x []T) {
	for i, v := range x {
		dst[i] = T(f(float32(v)))
	}
}

// LeakyRelu sets dst[i] = x[i] if x[i] is positive, else alpha*x[i]. dst may be x.
func LeakyRelu[T Float](dst, x []T, alpha T) {
	_ = x[:len(dst)]
	s := newSpan[T](&doLeakyRelu)
	s.dst, s.a, s.k[0] = dst, x, alpha
	s.do(len(dst), elementGrain)
}

var doLeakyRelu = spanFunc{runLeakyRelu[float32], runLeakyRelu[float64]}

func runLeakyRelu[T Float](s *span[T], lo, hi int) {
	dst, x, alpha := s.dst[lo:hi], s.a[lo:hi], s.k[0]
	for i, v := range x[:len(dst)] {
		if v > 0 {
			dst[i] = v
		} else {
			dst[i] = alpha * v
		}
	}
}

// LeakyReluGrad sets dst[i] = dy[i] if x[i] is positive, else alpha*dy[i]. dst may be dy or x.
func LeakyReluGrad[T Float](dst, dy, x []T, alpha T) {
	_, _ = dy[:len(dst)], x[:len(dst)]
	s := newSpan[T](&doLeakyReluGrad)
	s.dst, s.a, s.b, s.k[0] = dst, dy, x, alpha
	s.do(len(dst), elementGrain)
}

var doLeakyReluGrad = spanFunc{runLeakyReluGrad[float32], runLeakyReluGrad[float64]}

func runLeakyReluGrad[T Float](s *span[T], lo, hi int) {
	dst, dy, x, alpha := s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi], s.k[0]
	for i := range dst {
		if x[i] > 0 {
			dst[i] = dy[i]
		} else {
			dst[i] = alpha * dy[i]
		}
	}
}
