package kernels

import "math"

// ReduceOp names a reduction.
type ReduceOp uint8

// The reductions. Of no elements they give 0, NaN, -Inf, +Inf, 1 and 0.
const (
	ReduceSum ReduceOp = iota
	ReduceMean
	ReduceMax
	ReduceMin
	ReduceProd
	ReduceSumSquares
)

// reduceBlock is the length of the parts of a long sum. It is fixed, so that a sum does not depend on the number of threads.
const reduceBlock = 8192

// Sum returns the sum of x, computed in parts of fixed length that are added in order.
func Sum[T Float](x []T) T { return total(x, nil) }

// SumSquares returns the sum of x[i]^2.
func SumSquares[T Float](x []T) T { return total(x, x) }

// total returns the sum of a if b is nil, else of a*b.
func total[T Float](a, b []T) T {
	if len(a) <= reduceBlock {
		return part(a, b)
	}
	s := newSpan[T](&doTotal)
	s.a, s.b = a, b
	blocks := ceilDiv(len(a), reduceBlock)
	s.dst = s.part.take(blocks)
	Parallel(blocks, 1, s)
	var sum float64
	for _, v := range s.dst {
		sum += float64(v)
	}
	s.recycle()
	return T(sum)
}

var doTotal = spanFunc{runTotal[float32], runTotal[float64]}

func runTotal[T Float](s *span[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		from, to := i*reduceBlock, min((i+1)*reduceBlock, len(s.a))
		if s.b == nil {
			s.dst[i] = part(s.a[from:to], nil)
		} else {
			s.dst[i] = part(s.a[from:to], s.b[from:to])
		}
	}
}

func part[T Float](a, b []T) T {
	if b == nil {
		return sumRange(a)
	}
	return dotRange(a, b)
}

// sumRange adds in four lanes, so that the adds do not wait for each other.
func sumRange[T Float](x []T) T {
	if v, ok := simdSum(x); ok {
		return v
	}
	var s0, s1, s2, s3 T
	for ; len(x) >= 4; x = x[4:] {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
	}
	for _, v := range x {
		s0 += v
	}
	return (s0 + s1) + (s2 + s3)
}

func dotRange[T Float](a, b []T) T {
	b = b[:len(a)]
	if v, ok := simdDot(a, b); ok {
		return v
	}
	var s0, s1, s2, s3 T
	for ; len(a) >= 4 && len(b) >= 4; a, b = a[4:], b[4:] {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
	}
	for i, v := range a {
		s0 += v * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// maxRange returns the largest element, NaN if there is one, or -Inf for no elements.
func maxRange[T Float](x []T) T {
	if v, ok := simdMax(x); ok {
		return v
	}
	m := T(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

// minRange returns the smallest element, NaN if there is one, or +Inf for no elements.
func minRange[T Float](x []T) T {
	if v, ok := simdMin(x); ok {
		return v
	}
	m := T(math.Inf(1))
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

// Reduce reduces the middle dimension of x [outer, n, inner] into dst [outer, inner].
func Reduce[T Float](op ReduceOp, dst, x []T, outer, n, inner int) {
	_, _ = dst[:outer*inner], x[:outer*n*inner]
	switch {
	case outer*inner == 0:
	case inner == 1 && n > longRow && op != ReduceProd:
		longRows(op, dst, x, outer, n)
	case inner == 1:
		s := newSpan[T](&doReduceRows)
		s.op, s.dst, s.a, s.cols = int(op), dst, x, n
		s.do(outer, rowGrain(n, elementGrain))
	case outer == 1 && (op == ReduceSum || op == ReduceMean):
		ColSum(dst, x, n, inner)
		if op == ReduceMean {
			BinaryScalar(Div, dst[:inner], dst[:inner], T(n))
		}
	default:
		s := newSpan[T](&doReduceMiddle)
		s.op, s.dst, s.a, s.rows, s.cols = int(op), dst, x, n, inner
		s.do(outer, rowGrain(n*inner, elementGrain))
	}
}

var doReduceRows = spanFunc{runReduceRows[float32], runReduceRows[float64]}

// longRow is the least length of a row that all threads reduce.
const longRow = 4 * reduceBlock

func longRows[T Float](op ReduceOp, dst, x []T, outer, n int) {
	for r := range outer {
		row := x[r*n : (r+1)*n]
		switch op {
		case ReduceSumSquares:
			dst[r] = SumSquares(row)
		case ReduceMean:
			dst[r] = Sum(row) / T(n)
		case ReduceMax, ReduceMin:
			dst[r] = extreme(op, row)
		default:
			dst[r] = Sum(row)
		}
	}
}

// extreme returns the largest or the smallest element of a long row.
func extreme[T Float](op ReduceOp, x []T) T {
	s := newSpan[T](&doExtreme)
	s.op, s.a = int(op), x
	blocks := ceilDiv(len(x), reduceBlock)
	s.dst = s.part.take(blocks)
	Parallel(blocks, 1, s)
	v := reduceRow(op, s.dst)
	s.recycle()
	return v
}

var doExtreme = spanFunc{runExtreme[float32], runExtreme[float64]}

func runExtreme[T Float](s *span[T], lo, hi int) {
	for i := lo; i < hi; i++ {
		s.dst[i] = reduceRow(ReduceOp(s.op), s.a[i*reduceBlock:min((i+1)*reduceBlock, len(s.a))])
	}
}

func runReduceRows[T Float](s *span[T], lo, hi int) {
	for r := lo; r < hi; r++ {
		s.dst[r] = reduceRow(ReduceOp(s.op), s.a[r*s.cols:(r+1)*s.cols])
	}
}

func reduceRow[T Float](op ReduceOp, x []T) T {
	switch op {
	case ReduceSum:
		return sumRange(x)
	case ReduceMean:
		return sumRange(x) / T(len(x))
	case ReduceMax:
		return maxRange(x)
	case ReduceMin:
		return minRange(x)
	case ReduceSumSquares:
		return dotRange(x, x)
	default:
		m := reduceStart[T](op)
		for _, v := range x {
			m = reducePair(op, m, v)
		}
		return m
	}
}

func reduceStart[T Float](op ReduceOp) T {
	switch op {
	case ReduceMax:
		return T(math.Inf(-1))
	case ReduceMin:
		return T(math.Inf(1))
	case ReduceProd:
		return 1
	default:
		return 0
	}
}

func reducePair[T Float](op ReduceOp, a, v T) T {
	switch op {
	case ReduceMax:
		return max(a, v)
	case ReduceMin:
		return min(a, v)
	case ReduceProd:
		return a * v
	case ReduceSumSquares:
		return a + v*v
	default:
		return a + v
	}
}

var doReduceMiddle = spanFunc{runReduceMiddle[float32], runReduceMiddle[float64]}

func runReduceMiddle[T Float](s *span[T], lo, hi int) {
	for o := lo; o < hi; o++ {
		reduceMiddle(ReduceOp(s.op), s.dst[o*s.cols:(o+1)*s.cols], s.a[o*s.rows*s.cols:], s.rows)
	}
}

// reduceMiddle folds n rows of len(acc) elements into acc.
func reduceMiddle[T Float](op ReduceOp, acc, x []T, n int) {
	Fill(acc, reduceStart[T](op))
	rows := n
	if op == ReduceSum || op == ReduceMean {
		addColumns(colSum, acc, x[:n*len(acc)], nil, nil)
		rows = 0
	}
	for r := range rows {
		row := x[r*len(acc) : (r+1)*len(acc)]
		switch op {
		case ReduceMax:
			binaryRange(Max, acc, acc, row)
		case ReduceMin:
			binaryRange(Min, acc, acc, row)
		case ReduceProd:
			binaryRange(Mul, acc, acc, row)
		default:
			for i, v := range row {
				acc[i] = reducePair(op, acc[i], v)
			}
		}
	}
	if op == ReduceMean {
		for i := range acc {
			acc[i] /= T(n)
		}
	}
}
