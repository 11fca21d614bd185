package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// compileSlice takes the begin as a constant and the sizes from the result's shape.
func compileSlice(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	begin, err := c.ints(1)
	if err != nil {
		return nil, err
	}
	if len(begin) != len(x.dims) || len(out.dims) != len(x.dims) {
		return nil, fmt.Errorf("begin %v does not fit %v", begin, x.typ.Shape)
	}
	var steps []int
	return moving(c, out, x, false, func(s *strided) error {
		steps = denseSteps(steps, x.dims)
		base := 0
		for i, b := range begin {
			base += b * steps[i]
			if b < 0 || b+out.dims[i] > x.dims[i] {
				return fmt.Errorf("slice from %v of %v is outside of %v", begin, out.dims, x.dims)
			}
		}
		s.reset(base)
		for i, n := range out.dims {
			s.add(n, steps[i])
		}
		return nil
	})
}

// slicing is TensorFlow's strided slice of a tensor x. The ends are not read, as the result's shape has the sizes.
type slicing struct {
	begin, stride                        []int
	beginMask, ellipsis, newAxis, shrink int
	steps                                []int
}

// newSlicing reads begin (input i) and strides (input i+2).
func newSlicing(c *binding, i int) (*slicing, error) {
	begin, err := c.ints(i)
	if err != nil {
		return nil, err
	}
	stride, err := c.ints(i + 2)
	if err != nil {
		return nil, err
	}
	return slicingOf(c.node, begin, stride)
}

// slicingOf takes begin, strides and the masks of a node.
func slicingOf(n *graph.Node, begin, stride []int) (*slicing, error) {
	for _, s := range stride {
		if s == 0 {
			return nil, fmt.Errorf("strides %v: expected no 0", stride)
		}
	}
	if len(begin) != len(stride) {
		return nil, fmt.Errorf("begin %v and strides %v differ in length", begin, stride)
	}
	return &slicing{begin: begin, stride: stride, beginMask: n.Int("begin_mask", 0), ellipsis: n.Int("ellipsis_mask", 0),
		newAxis: n.Int("new_axis_mask", 0), shrink: n.Int("shrink_axis_mask", 0)}, nil
}

// StridedSlice returns, for a StridedSlice or StridedSliceGrad with these begins and strides, a function that says where the
// elements of a result lie in a dense tensor x: element (i0, i1, ...) of the sizes is at base + i0*steps[0] + i1*steps[1] + ...
// The function fails if sizes x do not give the sizes of the result.
func StridedSlice(n *graph.Node, begin, strides []int) (func(x, result []int) (sizes, steps []int, base int, err error), error) {
	l, err := slicingOf(n, begin, strides)
	if err != nil {
		return nil, err
	}
	return func(x, result []int) (sizes, steps []int, base int, err error) {
		var s strided
		err = l.walk(&s, x, result)
		return s.dims, s.steps, s.base, err
	}, nil
}

// walk makes the walk over x that gives a result of sizes out.
func (l *slicing) walk(s *strided, x, out []int) error {
	l.steps = denseSteps(l.steps, x)
	s.reset(0)
	in, to := 0, 0 // dimensions of x and of the result that are done
	whole := func() bool {
		if in >= len(x) || to >= len(out) || x[in] != out[to] {
			return false
		}
		s.add(out[to], l.steps[in])
		in, to = in+1, to+1
		return true
	}
	fits := true
	for i := range l.begin {
		bit := 1 << i
		switch {
		case l.ellipsis&bit != 0:
			for k := len(x) - l.consumed(i+1); in < k && fits; {
				fits = whole()
			}
		case l.newAxis&bit != 0:
			to++
		case in >= len(x):
			fits = false
		default:
			n := 1
			if l.shrink&bit == 0 {
				if to >= len(out) {
					return l.misfit(x, out)
				}
				n = out[to]
				to++
			}
			b := l.start(i, x[in])
			if end := b + (n-1)*l.stride[i]; n > 0 && (b < 0 || b >= x[in] || end < 0 || end >= x[in]) {
				return l.misfit(x, out)
			}
			s.base += b * l.steps[in]
			s.add(n, l.stride[i]*l.steps[in])
			in++
		}
	}
	for in < len(x) && fits {
		fits = whole()
	}
	if !fits || to != len(out) {
		return l.misfit(x, out)
	}
	return nil
}

func (l *slicing) misfit(x, out []int) error {
	return fmt.Errorf("strided slice from %v by %v of %v does not give %v", l.begin, l.stride, x, out)
}

// consumed returns the number of dimensions of x that entry i and all later ones take.
func (l *slicing) consumed(i int) int {
	n := 0
	for ; i < len(l.begin); i++ {
		if l.newAxis&(1<<i) == 0 {
			n++
		}
	}
	return n
}

// start returns the first index of entry i in a dimension of size n.
func (l *slicing) start(i, n int) int {
	b := l.begin[i]
	if l.beginMask&(1<<i) != 0 && l.shrink&(1<<i) == 0 {
		if l.stride[i] > 0 {
			return 0
		}
		return n - 1
	}
	if b < 0 {
		b += n
	}
	if l.shrink&(1<<i) != 0 {
		return b
	}
	if l.stride[i] > 0 {
		return min(max(b, 0), n)
	}
	return min(max(b, -1), n-1)
}

func compileStridedSlice(c *binding) (runFunc, error) {
	if err := c.need(4, 1); err != nil {
		return nil, err
	}
	l, err := newSlicing(c, 1)
	if err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	return moving(c, out, x, false, func(s *strided) error { return l.walk(s, x.dims, out.dims) })
}

// compileStridedSliceGrad takes shape, begin, end, strides, dy.
func compileStridedSliceGrad(c *binding) (runFunc, error) {
	if err := c.need(5, 1); err != nil {
		return nil, err
	}
	l, err := newSlicing(c, 1)
	if err != nil {
		return nil, err
	}
	dy, out := c.in[4], c.out[0]
	move, err := moving(c, dy, out, true, func(s *strided) error { return l.walk(s, out.dims, dy.dims) })
	return func() error { clear(out.bytes()); return move() }, err
}
