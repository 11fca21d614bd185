package eager

import (
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// sumSteps has the ops that sum or multiply along dimensions. TensorFlow sums bfloat16 in float32, except for means.
var sumSteps = map[*ops.Def]steps{
	ops.Sum:           onHalves(stepReduce(ops.Sum), nil, reduceMaker(ops.Sum)),
	ops.EuclideanNorm: onHalves(stepReduce(ops.EuclideanNorm), nil, reduceMaker(ops.EuclideanNorm)),
	ops.Mean:          stepReduce(ops.Mean),
	ops.Prod:          stepReduce(ops.Prod),
	ops.Softmax:       stepSoftmax(false),
	ops.LogSoftmax:    stepSoftmax(true),
	ops.Cumsum:        stepCumulate(false),
	ops.Cumprod:       stepCumulate(true),

	ops.UnsortedSegmentMax: finiteSegments(maxOf),
	ops.UnsortedSegmentMin: finiteSegments(minOf),
}

// onHalves returns float16's steps, and for bfloat16 brain or, if that is nil, m, the maker of float32's kernel.
func onHalves(float16, brain steps, m maker) steps {
	return func(d tensor.DType) maker {
		switch {
		case d == tensor.Float16:
			return float16(d)
		case brain != nil:
			return brain(d)
		}
		return m
	}
}

// stepper adds or multiplies, and rounds each result.
type stepper struct {
	r     rounding
	times bool
}

// start returns the neutral element.
func (s stepper) start() float32 {
	if s.times {
		return 1
	}
	return 0
}

func (s stepper) two(a, b float32) float32 {
	if s.times {
		return s.r(a * b)
	}
	return s.r(a + b)
}

// Eigen's 16-bit vectors have stepLanes lanes, and its sums along rows split into leaves of halfLeaf or brainLeaf vectors.
const (
	stepLanes      = 8
	halfLeaf       = 200
	brainLeaf      = 128
	stepUnroll     = 4
	leastUnrolled  = 16
	gemvBlock      = 16
	leastGemvBlock = 128
)

// row reduces adjacent numbers in Eigen's order: vectors of 8 into four accumulators, and long rows by halves.
func (s stepper) row(x []float32, leaf, first int) float32 {
	n := len(x)
	if n <= stepLanes*leaf {
		return s.leaf(x)
	}
	split := (first + (n+1)/2 + stepLanes - 1) / stepLanes * stepLanes
	left := min(split-first, n)
	acc := s.two(s.start(), s.row(x[:left], leaf, first))
	if left < n {
		acc = s.two(acc, s.row(x[left:], leaf, split))
	}
	return acc
}

func (s stepper) leaf(x []float32) float32 {
	var acc [stepUnroll][stepLanes]float32
	for k := range acc {
		for i := range acc[k] {
			acc[k][i] = s.start()
		}
	}
	add := func(k int, v []float32) {
		for i := range acc[k] {
			acc[k][i] = s.two(acc[k][i], v[i])
		}
	}
	at := 0
	for ; at+stepUnroll*stepLanes <= len(x); at += stepUnroll * stepLanes {
		for k := range acc {
			add(k, x[at+k*stepLanes:])
		}
	}
	for k := 1; k < stepUnroll; k++ {
		add(0, acc[k][:])
	}
	for ; at+stepLanes <= len(x); at += stepLanes {
		add(0, x[at:])
	}
	rest := s.start()
	for _, v := range x[at:] {
		rest = s.two(rest, v)
	}
	return s.two(s.across(acc[0]), rest)
}

// across reduces the lanes of a vector in float32.
func (s stepper) across(v [stepLanes]float32) float32 {
	if s.times {
		return s.r(v[0] * v[4] * (v[2] * v[6]) * (v[1] * v[5] * (v[3] * v[7])))
	}
	return s.r(v[0] + v[4] + (v[2] + v[6]) + (v[1] + v[5] + (v[3] + v[7])))
}

// column reduces n numbers that are step apart. Eigen reduces vectors in another order, four by four.
func (s stepper) column(x []float32, n, step int, vector bool) float32 {
	at, acc := 0, s.start()
	if vector && n >= leastUnrolled {
		four := [stepUnroll]float32{acc, acc, acc, acc}
		for ; at+stepUnroll <= n; at += stepUnroll {
			for k := range four {
				four[k] = s.two(four[k], x[(at+k)*step])
			}
		}
		acc = four[0]
		for _, v := range four[1:] {
			acc = s.two(acc, v)
		}
	}
	for ; at < n; at++ {
		acc = s.two(acc, x[at*step])
	}
	return acc
}

// leafOf returns the number of vectors in a leaf of sums.
func leafOf(d tensor.DType) int {
	if d == tensor.Float16 {
		return halfLeaf
	}
	return brainLeaf
}

// stepReduce reduces dimensions.
func stepReduce(op *ops.Def) steps {
	return func(d tensor.DType) maker {
		r := roundings[d]
		s := stepper{r, op == ops.Prod}
		return func(site *site) (kernel, error) {
			keep := site.boolean("keep_dims", false)
			return func(c call) error {
				span, err := reduced(c.t(0).Shape, c.t(1), keep)
				if err != nil {
					return err
				}
				dst, err := outputOf[float32](c, 0, span.out...)
				if err != nil {
					return err
				}
				src := tensor.Values[float32](c.t(0))
				if op == ops.EuclideanNorm {
					if src, err = squared(c, src, r); err != nil {
						return err
					}
				}
				if err := s.reduce(c, dst, src, span, leafOf(d)); err != nil {
					return err
				}
				for i, v := range dst {
					switch op {
					case ops.Mean:
						dst[i] = v / r(float32(span.count))
					case ops.EuclideanNorm:
						dst[i] = sqrt32(v)
					}
				}
				return nil
			}, nil
		}
	}
}

// squared returns the rounded squares of x.
func squared(c call, x []float32, r rounding) ([]float32, error) {
	if err := c.room(len(x), 4); err != nil {
		return nil, err
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = r(v * v)
	}
	return y, nil
}

// block merges adjacent dimensions that are reduced, or that are not.
type block struct {
	size int
	gone bool
}

// blocks merges adjacent dimensions of a reduction that are alike.
func (r span) blocks() (all []block) {
	for k, n := range r.in {
		if n == 1 {
			continue
		}
		gone := r.steps[k] == 0
		if last := len(all) - 1; last >= 0 && all[last].gone == gone {
			all[last].size *= n
		} else {
			all = append(all, block{n, gone})
		}
	}
	return all
}

// reduce reduces src to dst in Eigen's order.
func (s stepper) reduce(c call, dst, src []float32, r span, leaf int) error {
	b := r.blocks()
	switch {
	case len(dst) == 0:
	case len(src) == 0:
		for i := range dst {
			dst[i] = s.start()
		}
	case len(b) == 0, len(b) == 1 && !b[0].gone:
		copy(dst, src)
	case len(b) <= 2 && b[len(b)-1].gone:
		s.rows(dst, src, leaf)
	case len(b) == 2:
		s.middle(dst, src, lane{1, b[0].size, b[1].size})
	case len(b) == 3 && b[1].gone:
		s.middle(dst, src, lane{b[0].size, b[1].size, b[2].size})
	case len(b) == 3:
		s.ends(dst, src, lane{b[0].size, b[1].size, b[2].size})
	default: // TensorFlow first moves the reduced dimensions to the end
		if err := c.room(len(src), 4); err != nil {
			return err
		}
		next, moved, n := make([]int, len(dst)), make([]float32, len(src)), len(src)/len(dst)
		r.walk(func(i, o int) {
			moved[o*n+next[o]] = src[i]
			next[o]++
		})
		s.rows(dst, moved, leaf)
	}
	return nil
}

func (s stepper) rows(dst, src []float32, leaf int) {
	n := len(src) / len(dst)
	for i := range dst {
		dst[i] = s.row(src[i*n:(i+1)*n], leaf, i*n)
	}
}

// middle reduces dimension n of a lane: Eigen computes results as vectors where a whole vector is in one row.
func (s stepper) middle(dst, src []float32, l lane) {
	l.each(func(line, first int) {
		at := line / stepLanes * stepLanes
		vector := at%l.inner+stepLanes <= l.inner && at+stepLanes <= len(dst)
		dst[line] = s.column(src[first:], l.n, l.inner, vector)
	})
}

// ends reduces the outer and inner dimensions of a lane.
func (s stepper) ends(dst, src []float32, l lane) {
	for k := range dst {
		acc := s.start()
		for j := range l.inner {
			for i := range l.outer {
				acc = s.two(acc, src[(i*l.n+k)*l.inner+j])
			}
		}
		dst[k] = acc
	}
}

// stepSoftmax rounds the shifted values, their powers, their sum, and its inverse or logarithm.
func stepSoftmax(log bool) steps {
	return func(d tensor.DType) maker {
		r := roundings[d]
		s := stepper{r: r}
		return plain(softmax(func(dst, x []float32, rows, cols int) {
			e := make([]float32, cols)
			for i := range rows {
				row, from := dst[i*cols:(i+1)*cols], x[i*cols:(i+1)*cols]
				most := from[0]
				for _, v := range from {
					most = max(most, v)
				}
				for k, v := range from {
					row[k] = r(v - most)
					e[k] = r(exp32(row[k]))
				}
				sum := s.row(e, leafOf(d), i*cols)
				less, by := r(log32(sum)), r(1/sum)
				for k, v := range row {
					if row[k] = e[k] * by; log {
						row[k] = v - less
					}
				}
			}
		}))
	}
}

func stepCumulate(times bool) steps {
	return func(d tensor.DType) maker {
		s := stepper{roundings[d], times}
		return func(site *site) (kernel, error) {
			exclusive, backwards := site.boolean("exclusive", false), site.boolean("reverse", false)
			return cumulateBy(s.start(), s.two, exclusive, backwards), nil
		}
	}
}

// finiteSegments is the max or min of segments: the neutral element is the type's lowest or largest finite number.
func finiteSegments(of reduction) steps {
	return func(d tensor.DType) maker {
		largest := float32(0x1.fep127)
		if d == tensor.Float16 {
			largest = 65504
		}
		k := segment(of, true)
		return plain(func(c call) error {
			if err := k(c); err != nil {
				return err
			}
			v := tensor.Values[float32](c.out[0].T)
			for i, x := range v {
				if v[i] = max(x, -largest); of == minOf {
					v[i] = min(x, largest)
				}
			}
			return nil
		})
	}
}
