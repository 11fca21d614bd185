package kernels

import "unsafe"

const (
	elementGrain = 8192 // elements of a cheap elementwise range
	mathGrain    = 2048 // elements of a range with exp, log and the like
)

// span is one job over vectors: the operands, the constants and the function that does a range. One pooled type serves all
// vector kernels.
type span[T Float] struct {
	run          func(s *span[T], lo, hi int)
	dst, a, b, c []T
	k            [6]T
	op           int
	rows, cols   int
	block        int // rows of a part of a column sum
	coef         [3][]T
	flag         bool
	labels32     []int32
	labels64     []int64
	part         scratch[T] // partial results, one per range; kept when the span is recycled
}

// Run implements Task.
func (s *span[T]) Run(lo, hi int) { s.run(s, lo, hi) }

var (
	spans32 freelist[span[float32]]
	spans64 freelist[span[float64]]
)

func spans[T Float]() *freelist[span[T]] {
	if is32[T]() {
		return (*freelist[span[T]])(unsafe.Pointer(&spans32))
	}
	return (*freelist[span[T]])(unsafe.Pointer(&spans64))
}

// spanFunc is a range function for both element types. It is made once: a generic function that a generic caller instantiates is
// a closure, which is allocated at each use.
type spanFunc struct {
	f32 func(s *span[float32], lo, hi int)
	f64 func(s *span[float64], lo, hi int)
}

// newSpan returns a cleared span that runs f.
func newSpan[T Float](f *spanFunc) *span[T] {
	s := spans[T]().get()
	if is32[T]() {
		s.run = *(*func(s *span[T], lo, hi int))(unsafe.Pointer(&f.f32))
	} else {
		s.run = *(*func(s *span[T], lo, hi int))(unsafe.Pointer(&f.f64))
	}
	return s
}

// do runs the span over [0, n) in parallel and recycles it.
func (s *span[T]) do(n, grain int) {
	Parallel(n, grain, s)
	s.recycle()
}

func (s *span[T]) recycle() {
	part := s.part
	*s = span[T]{part: part}
	spans[T]().put(s)
}

// rowGrain returns the number of rows of the given width that are worth a thread.
func rowGrain(cols, elements int) int { return max(1, elements/max(cols, 1)) }
