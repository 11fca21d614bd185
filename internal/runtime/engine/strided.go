package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// strided is a walk over a tensor with any step in every dimension, in the order of a dense tensor of the sizes dims.
// Neighbouring dimensions that a single step covers are merged.
type strided struct {
	dims, steps []int
	base        int
}

// reset starts a walk at an offset.
func (s *strided) reset(base int) { s.dims, s.steps, s.base = s.dims[:0], s.steps[:0], base }

// add appends an inner dimension.
func (s *strided) add(n, step int) {
	if n == 1 {
		return
	}
	if k := len(s.dims) - 1; k >= 0 && s.steps[k] == step*n {
		s.dims[k] *= n
		s.steps[k] = step
		return
	}
	s.dims, s.steps = append(s.dims, n), append(s.steps, step)
}

// inner returns the innermost dimension.
func (s *strided) inner() (n, step int) {
	if len(s.dims) == 0 {
		return 1, 1
	}
	return s.dims[len(s.dims)-1], s.steps[len(s.steps)-1]
}

// at returns the offset of row r of the dimensions around the innermost.
func (s *strided) at(r int) int {
	off := s.base
	for k := len(s.dims) - 2; k >= 0; k-- {
		off += r % s.dims[k] * s.steps[k]
		r /= s.dims[k]
	}
	return off
}

// offsets begins a walk over the offsets of rows from lo on. The first left rows lie a fixed step apart and need no
// division. at gives the offset of the row after them.
func (s *strided) offsets(lo int) (first, step, left int) {
	left = s.even()
	if k := len(s.dims) - 2; k >= 0 {
		step = s.steps[k]
		left -= lo % left
	}
	return s.at(lo), step, left
}

// even is the number of rows that lie a fixed step apart.
func (s *strided) even() int {
	if k := len(s.dims) - 2; k >= 0 {
		return s.dims[k]
	}
	return 1
}

// gather sets dst to the elements of src along the walk, for the given rows.
func gather[T any](s *strided, dst, src []T, lo, hi int) {
	n, step := s.inner()
	next, between, left := s.offsets(lo)
	for r := lo; r < hi; r++ {
		if left == 0 {
			next, left = s.at(r), s.even()
		}
		off, d := next, dst[r*n:(r+1)*n]
		next, left = next+between, left-1
		switch step {
		case 1:
			copy(d, src[off:off+n])
		default:
			for i := range d {
				d[i] = src[off]
				off += step
			}
		}
	}
}

// scatter puts the elements of src into dst along the walk, for the given rows.
func scatter[T any](s *strided, dst, src []T, lo, hi int) {
	n, step := s.inner()
	next, between, left := s.offsets(lo)
	for r := lo; r < hi; r++ {
		if left == 0 {
			next, left = s.at(r), s.even()
		}
		off, d := next, src[r*n:(r+1)*n]
		next, left = next+between, left-1
		switch step {
		case 1:
			copy(dst[off:off+n], d)
		default:
			for _, e := range d {
				dst[off] = e
				off += step
			}
		}
	}
}

// mover copies between a dense value and a strided one.
type mover struct {
	walk       strided
	dense, far *value
	rows       func(lo, hi int) // copies rows of the walk's innermost dimension
	do         func(n int)      // runs rows on all workers
}

// newMover makes a mover for elements of any type: from far along the walk to dense or, with into, from dense to far.
func newMover(dense, far *value, into bool) (*mover, error) {
	m := &mover{dense: dense, far: far}
	switch dense.typ.DType.Size() {
	case 1:
		m.rows = moveBy[uint8](m, into)
	case 2:
		m.rows = moveBy[uint16](m, into)
	case 4:
		m.rows = moveBy[uint32](m, into)
	case 8:
		m.rows = moveBy[uint64](m, into)
	default:
		return nil, fmt.Errorf("element type %v cannot be moved", dense.typ.DType)
	}
	m.do = parallel(64, m.rows)
	return m, nil
}

func moveBy[T tensor.Element](m *mover, into bool) func(lo, hi int) {
	if into {
		return func(lo, hi int) { scatter(&m.walk, view[T](m.far), view[T](m.dense), lo, hi) }
	}
	return func(lo, hi int) { gather(&m.walk, view[T](m.dense), view[T](m.far), lo, hi) }
}

// run does the copy. Small copies do not use the workers.
func (m *mover) run() {
	if m.dense.n == 0 {
		return
	}
	n, _ := m.walk.inner()
	if m.dense.n < 4*cheapGrain {
		m.rows(0, m.dense.n/n)
		return
	}
	m.do(m.dense.n / n)
}

// moving is a step of one mover whose walk is made for every batch size.
func moving(c *binding, dense, far *value, into bool, walk func(s *strided) error) (runFunc, error) {
	if err := checkSame(dense, far); err != nil {
		return nil, err
	}
	m, err := newMover(dense, far, into)
	if err != nil {
		return nil, err
	}
	c.onBatch = func() error { return walk(&m.walk) }
	return func() error { m.run(); return nil }, nil
}

// denseSteps fills steps with the strides of a dense tensor.
func denseSteps(steps, dims []int) []int {
	steps = append(steps[:0], dims...)
	n := 1
	for i := len(dims) - 1; i >= 0; i-- {
		steps[i] = n
		n *= dims[i]
	}
	return steps
}
