package engine

import "github.com/goestimator/goestimator/internal/runtime/kernels"

const (
	cheapGrain = 8192 // elements of a range of simple work
	dearGrain  = 1024 // elements of a range of mathematical functions

	blockElements = 4096 // elements of a block that several passes go over, so that it stays in the L1 cache
)

// ranged is a kernels.Task of a function. A step keeps it, so that running it allocates nothing.
type ranged struct{ f func(lo, hi int) }

// Run implements kernels.Task.
func (r *ranged) Run(lo, hi int) { r.f(lo, hi) }

// parallel returns a function that runs f over [0, n) on all workers, or directly if that is a single range.
func parallel(grain int, f func(lo, hi int)) func(n int) {
	t := &ranged{f}
	return func(n int) {
		if n > 0 && n <= grain {
			f(0, n)
			return
		}
		kernels.Parallel(n, grain, t)
	}
}

// byRows returns a function that runs f over the rows of a matrix on all workers, or directly if there are few.
func byRows(f func(lo, hi int)) func(rows, cols int) {
	t := &ranged{f}
	return func(rows, cols int) {
		if rows*cols <= cheapGrain {
			f(0, rows)
			return
		}
		kernels.Parallel(rows, max(cheapGrain/max(cols, 1), 1), t)
	}
}
