package kernels

// BinaryOp names a function of two vectors.
type BinaryOp uint8

// The binary operations. Max and Min give NaN if either operand is NaN. The gradients take (dy, x) or, if the
// derivative is a function of the result, (dy, y), like TensorFlow's ops of the same name.
const (
	Add BinaryOp = iota
	Sub
	Mul
	Div // IEEE: x/0 is an infinity or NaN
	Max
	Min
	SquaredDifference // (a-b)^2
	DivNoNan          // a/b, 0 where b is 0
	ReluGrad          // dy times 1 where x > 0, else times 0
	Relu6Grad         // dy times 1 where 0 < x < 6, else times 0
	SigmoidGrad       // dy * y * (1-y)
	TanhGrad          // dy * (1 - y*y)
	SqrtGrad          // dy * 0.5 / y, 0 where dy is 0
	RsqrtGrad         // dy * -0.5 * y^3, 0 where dy is 0
	ReciprocalGrad    // -dy * y^2, 0 where dy is 0
	EluGrad           // dy * (y+1) where y < 0, else dy
	SoftplusGrad      // dy * sigmoid(x)
	Pow               // a^b
	binaryCount
)

// Binary sets dst[i] = op(a[i], b[i]) for every i of dst. dst may be a, b or both.
func Binary[T Float](op BinaryOp, dst, a, b []T) {
	_, _ = a[:len(dst)], b[:len(dst)]
	checkBinary(op)
	s := newSpan[T](&doBinary)
	s.op, s.dst, s.a, s.b = int(op), dst, a, b
	s.do(len(dst), binaryGrain(op))
}

// BinaryScalar sets dst[i] = op(a[i], k). dst may be a.
func BinaryScalar[T Float](op BinaryOp, dst, a []T, k T) {
	_ = a[:len(dst)]
	checkBinary(op)
	s := newSpan[T](&doBinaryScalar)
	s.op, s.dst, s.a, s.k[0] = int(op), dst, a, k
	s.do(len(dst), binaryGrain(op))
}

// ScalarBinary sets dst[i] = op(k, b[i]). dst may be b.
func ScalarBinary[T Float](op BinaryOp, dst []T, k T, b []T) {
	_ = b[:len(dst)]
	checkBinary(op)
	s := newSpan[T](&doScalarBinary)
	s.op, s.dst, s.a, s.k[0] = int(op), dst, b, k
	s.do(len(dst), binaryGrain(op))
}

func checkBinary(op BinaryOp) {
	if op >= binaryCount {
		panic("kernels: unknown binary operation")
	}
}

func binaryGrain(op BinaryOp) int {
	if op >= SoftplusGrad {
		return mathGrain
	}
	return elementGrain
}

var doBinary = spanFunc{runBinary[float32], runBinary[float64]}

func runBinary[T Float](s *span[T], lo, hi int) {
	binaryRange(BinaryOp(s.op), s.dst[lo:hi], s.a[lo:hi], s.b[lo:hi])
}

// constBlock is the number of copies of a scalar that a range makes to reuse the two-vector loops. They stay in the L1 cache.
const constBlock = 256

var doBinaryScalar = spanFunc{runBinaryScalar[float32], runBinaryScalar[float64]}

func runBinaryScalar[T Float](s *span[T], lo, hi int) {
	dst, a := s.dst[lo:hi], s.a[lo:hi]
	if simdScalar(BinaryOp(s.op), dst, a, s.k[0]) {
		return
	}
	t := scratches[T]().get()
	k := t.take(min(constBlock, len(dst)))
	Fill(k, s.k[0])
	for i := 0; i < len(dst); i += constBlock {
		end := min(i+constBlock, len(dst))
		binaryRange(BinaryOp(s.op), dst[i:end], a[i:end], k[:end-i])
	}
	scratches[T]().put(t)
}

var doScalarBinary = spanFunc{runScalarBinary[float32], runScalarBinary[float64]}

func runScalarBinary[T Float](s *span[T], lo, hi int) {
	dst, b := s.dst[lo:hi], s.a[lo:hi]
	t := scratches[T]().get()
	k := t.take(min(constBlock, len(dst)))
	Fill(k, s.k[0])
	for i := 0; i < len(dst); i += constBlock {
		end := min(i+constBlock, len(dst))
		binaryRange(BinaryOp(s.op), dst[i:end], k[:end-i], b[i:end])
	}
	scratches[T]().put(t)
}

// binaryRange is Binary on the calling goroutine.
func binaryRange[T Float](op BinaryOp, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if simdBinary(op, dst, a, b) {
		return
	}
	if op >= ReluGrad {
		binaryGradient(op, dst, a, b)
		return
	}
	switch op {
	case Add:
		for i, v := range a {
			dst[i] = v + b[i]
		}
	case Sub:
		for i, v := range a {
			dst[i] = v - b[i]
		}
	case Mul:
		for i, v := range a {
			dst[i] = v * b[i]
		}
	case Div:
		for i, v := range a {
			dst[i] = v / b[i]
		}
	case Max:
		for i, v := range a {
			dst[i] = max(v, b[i])
		}
	case Min:
		for i, v := range a {
			dst[i] = min(v, b[i])
		}
	case DivNoNan:
		divNoNan(dst, a, b)
	case SquaredDifference:
		for i, v := range a {
			d := v - b[i]
			dst[i] = d * d
		}
	}
}

// divNoNan divides vectors of the same length. It divides them as a whole if no divisor is zero, the usual case.
func divNoNan[T Float](dst, a, b []T) {
	if !hasZero(b) {
		binaryRange(Div, dst, a, b)
		return
	}
	for i, v := range a {
		if k := b[i]; k != 0 {
			dst[i] = v / k
		} else {
			dst[i] = 0
		}
	}
}

func hasZero[T Float](x []T) bool {
	for _, v := range x {
		if v == 0 {
			return true
		}
	}
	return false
}

// binaryGradient does the operations from ReluGrad on.
func binaryGradient[T Float](op BinaryOp, dst, dy, x []T) {
	f := gradientFuncs[op]
	for i, v := range dy {
		dst[i] = T(f(float64(v), float64(x[i])))
	}
}

// Fill sets every element of dst to v.
func Fill[T Float](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// Axpy adds alpha*x[i] to y[i] for every i of y.
func Axpy[T Float](alpha T, x, y []T) {
	_ = x[:len(y)]
	s := newSpan[T](&doAxpy)
	s.dst, s.a, s.k[0] = y, x, alpha
	s.do(len(y), elementGrain)
}

var doAxpy = spanFunc{runAxpy[float32], runAxpy[float64]}

func runAxpy[T Float](s *span[T], lo, hi int) { axpyRange(s.k[0], s.a[lo:hi], s.dst[lo:hi]) }

func axpyRange[T Float](alpha T, x, y []T) {
	x = x[:len(y)]
	if simdAxpy(alpha, x, y) {
		return
	}
	for i, v := range x {
		y[i] += alpha * v
	}
}
