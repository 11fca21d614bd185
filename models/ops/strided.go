package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Range selects the elements From, From+Step, ... before To of a dimension. Negative
// From and To count from the end; To may be End. A Step of 0 means 1. With a negative
// Step the range goes backwards: from the last element if From is End, and to the first
// if To is End.
type Range struct{ From, To, Step int }

// End is the end of a dimension, whatever its size.
const End = int(^uint32(0) >> 1)

// All selects a whole dimension.
var All = Range{To: End}

// StridedSlice returns the part of x selected by a range for each of the first
// dimensions; further dimensions stay whole. Write All for the batch dimension.
func StridedSlice(c models.Context, x *G.Node, ranges ...Range) *G.Node {
	const name = "StridedSlice"
	if !ready(c, name, x) {
		return nil
	}
	s := []int(x.Shape())
	if len(ranges) > len(s) {
		c.Core().Failf("%s: %d ranges of shape %v: expected at most %d", name, len(ranges), s, len(s))
		return nil
	}
	out, l := append([]int{}, s...), slicing{}
	for i, r := range ranges {
		if r.Step == 0 {
			r.Step = 1
		}
		if r.Step < 0 && r.From == End || r.Step > 0 && r.From == 0 {
			l.beginMask |= 1 << i
			r.From = 0
		}
		if r.To == End {
			l.endMask |= 1 << i
			r.To = 0
		}
		l.begin, l.end, l.strides = append(l.begin, narrow(r.From)), append(l.end, narrow(r.To)), append(l.strides, narrow(r.Step))
		if out[i] = l.count(i, s[i]); out[i] < 1 {
			c.Core().Failf("%s: %+v of dimension %d of shape %v selects nothing", name, ranges[i], i, s)
			return nil
		}
	}
	return strided(c, x, l, out)
}

// narrow limits a place to an int32; a place beyond any tensor stays beyond.
func narrow(v int) int { return min(max(v, -End), End) }

// count returns the number of elements that range i selects of n.
func (l *slicing) count(i, n int) int {
	step, lo, hi := l.strides[i], 0, n
	if step < 0 {
		lo, hi = -1, n-1
	}
	place := func(v int, masked bool, whole int) int {
		if masked {
			return whole
		}
		if v < 0 {
			v += n
		}
		return min(max(v, lo), hi)
	}
	first, end := 0, n
	if step < 0 {
		first, end = n-1, -1
	}
	from, to := place(l.begin[i], l.beginMask&(1<<i) != 0, first), place(l.end[i], l.endMask&(1<<i) != 0, end)
	if step < 0 {
		from, to, step = to, from, -step
	}
	return (to - from + step - 1) / step
}

// stridedGrad puts the gradient where the elements were taken.
func stridedGrad(a *adjoint, consts []operand) *G.Node {
	x := a.in[0]
	attrs := a.out.Op().(*op).attrs
	return apply(a, spec{op: "StridedSliceGrad", outs: []kind{kindOf(x)}, attrs: clone(attrs), emit: func(e *emission) []graph.Output {
		return e.all(e.shapeOf(e.in[1]), e.constant(consts[0]), e.constant(consts[1]), e.constant(consts[2]), e.in[0])
	}}, a.grad, x)
}
