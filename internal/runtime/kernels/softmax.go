package kernels

import (
	"fmt"
	"math"
)

// LabelError means that a class label is not one of the logits' classes.
type LabelError struct {
	Row     int   // position in the batch
	Label   int64 // the label
	Classes int   // labels must be in [0, Classes)
}

// Error implements error.
func (e *LabelError) Error() string {
	return fmt.Sprintf("label out of range: row %d has label %d, expected 0 <= label < %d: check the labels or the number of classes",
		e.Row, e.Label, e.Classes)
}

// Softmax sets each row of dst to exp(x)/sum(exp(x)) of the same row of x [rows, cols]. dst may be x.
func Softmax[T Float](dst, x []T, rows, cols int) { softmaxRows(&doSoftmax, dst, x, rows, cols) }

// LogSoftmax sets each row of dst to x - log(sum(exp(x))). dst may be x.
func LogSoftmax[T Float](dst, x []T, rows, cols int) {
	softmaxRows(&doLogSoftmax, dst, x, rows, cols)
}

func softmaxRows[T Float](run *spanFunc, dst, x []T, rows, cols int) {
	_, _ = dst[:rows*cols], x[:rows*cols]
	s := newSpan[T](run)
	s.dst, s.a, s.cols = dst, x, cols
	s.do(rows, rowGrain(cols, mathGrain))
}

var doSoftmax = spanFunc{runSoftmax[float32], runSoftmax[float64]}

func runSoftmax[T Float](s *span[T], lo, hi int) {
	if s.cols > 0 && s.cols <= narrowRow {
		narrowSoftmaxRows(s, lo, hi)
		return
	}
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		dst := s.dst[from:to]
		_, sum := expShifted(dst, s.a[from:to])
		scaleRange(dst, 1/sum)
	}
}

var doLogSoftmax = spanFunc{runLogSoftmax[float32], runLogSoftmax[float64]}

func runLogSoftmax[T Float](s *span[T], lo, hi int) {
	t := scratches[T]().get()
	e := t.take(s.cols)
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		m, sum := expShifted(e, s.a[from:to])
		addScalarRange(s.dst[from:to], s.a[from:to], -m)
		addScalarRange(s.dst[from:to], s.dst[from:to], -T(math.Log(float64(sum))))
	}
	scratches[T]().put(t)
}

// expShifted sets dst = exp(x - max(x)) and returns the maximum and the sum of dst.
func expShifted[T Float](dst, x []T) (top, sum T) {
	top = maxRange(x)
	addScalarRange(dst, x, -top)
	unaryRange(Exp, dst, dst)
	return top, sumRange(dst)
}

func scaleRange[T Float](x []T, k T) {
	if simdScalar(Mul, x, x, k) {
		return
	}
	for i := range x {
		x[i] *= k
	}
}

func addScalarRange[T Float](dst, x []T, k T) {
	if simdScalar(Add, dst, x, k) {
		return
	}
	for i, v := range x {
		dst[i] = v + k
	}
}

// SparseSoftmaxXent computes TensorFlow's SparseSoftmaxCrossEntropyWithLogits for logits [rows, cols] and one label per
// row: loss[r] = log(sum(exp(logits))) - logits[label] and, if backprop is not nil, backprop = softmax - onehot. backprop
// may be logits. If a label is not in [0, cols), it returns a *LabelError and writes nothing.
func SparseSoftmaxXent[T Float, L int32 | int64](loss, backprop, logits []T, labels []L, rows, cols int) error {
	_, _, _ = loss[:rows], logits[:rows*cols], labels[:rows]
	for r, l := range labels[:rows] {
		if l < 0 || int64(l) >= int64(cols) {
			return &LabelError{Row: r, Label: int64(l), Classes: cols}
		}
	}
	s := newSpan[T](&doSparseXent)
	s.dst, s.a, s.b, s.cols = backprop, logits, loss, cols
	switch l := any(labels).(type) {
	case []int32:
		s.labels32 = l
	case []int64:
		s.labels64 = l
	}
	s.do(rows, rowGrain(cols, mathGrain))
	return nil
}

var doSparseXent = spanFunc{runSparseXent[float32], runSparseXent[float64]}

func runSparseXent[T Float](s *span[T], lo, hi int) {
	if s.cols <= narrowRow {
		narrowSparseXent(s, lo, hi)
		return
	}
	t := scratches[T]().get()
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		var e []T
		if s.dst != nil {
			e = s.dst[from:to]
		} else {
			e = t.take(s.cols)
		}
		label := s.label(r)
		x := s.a[from+label]
		m, sum := expShifted(e, s.a[from:to])
		s.b[r] = T(math.Log(float64(sum))) - (x - m)
		if s.dst != nil {
			scaleRange(e, 1/sum)
			e[label]--
		}
	}
	scratches[T]().put(t)
}

func (s *span[T]) label(r int) int {
	if s.labels32 != nil {
		return int(s.labels32[r])
	}
	return int(s.labels64[r])
}

// SoftmaxXent computes TensorFlow's SoftmaxCrossEntropyWithLogits for logits and label distributions [rows, cols]:
// loss[r] = sum(labels * (log(sum(exp(logits))) - logits)) and, if backprop is not nil, backprop = softmax - labels.
func SoftmaxXent[T Float](loss, backprop, logits, labels []T, rows, cols int) {
	_, _, _ = loss[:rows], logits[:rows*cols], labels[:rows*cols]
	s := newSpan[T](&doXent)
	s.dst, s.a, s.b, s.c, s.cols = backprop, logits, loss, labels, cols
	s.do(rows, rowGrain(cols, mathGrain))
}

var doXent = spanFunc{runXent[float32], runXent[float64]}

func runXent[T Float](s *span[T], lo, hi int) {
	t := scratches[T]().get()
	e := t.take(s.cols)
	for r := lo; r < hi; r++ {
		from, to := r*s.cols, (r+1)*s.cols
		logits, labels := s.a[from:to], s.c[from:to]
		m, sum := expShifted(e, logits)
		logSum := T(math.Log(float64(sum)))
		var l T
		for i, p := range labels {
			l += p * (logSum - (logits[i] - m))
		}
		s.b[r] = l
		if s.dst != nil {
			scaleRange(e, 1/sum)
			binaryRange(Sub, s.dst[from:to], e, labels)
		}
	}
	scratches[T]().put(t)
}
