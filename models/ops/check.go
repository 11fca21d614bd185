package ops

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// ready reports whether op can inspect its operands: nothing has failed and none is nil.
// A nil operand without an earlier error is the caller's mistake.
func ready(c models.Context, op string, in ...*G.Node) bool {
	b := c.Core()
	if b.Failed() {
		return false
	}
	for i, n := range in {
		if n == nil {
			b.Failf("%s: operand %d is nil: expected a node", op, i)
			return false
		}
	}
	return true
}

// sameType is ready for operands of one element type.
func sameType(c models.Context, op string, in ...*G.Node) bool {
	if !ready(c, op, in...) {
		return false
	}
	for i, n := range in[1:] {
		if n.Dtype() != in[0].Dtype() {
			c.Core().Failf("%s: operand 0 is %v, operand %d is %v: expected one type (ops.Cast converts)", op, in[0].Dtype(), i+1, n.Dtype())
			return false
		}
	}
	return true
}

// floats is sameType for floating-point operands.
func floats(c models.Context, op string, in ...*G.Node) bool {
	if !sameType(c, op, in...) {
		return false
	}
	if !isFloat(in[0]) {
		c.Core().Failf("%s: operand is %v: expected float32 or float64 (ops.Cast converts)", op, in[0].Dtype())
		return false
	}
	return true
}

// rank reports whether n has the rank that op needs.
func rank(c models.Context, op, operand string, n *G.Node, want int) bool {
	if got := n.Shape(); len(got) != want {
		c.Core().Failf("%s: %s has shape %v: expected rank %d", op, operand, got, want)
		return false
	}
	return true
}

// axis resolves a possibly negative axis of a tensor of the given rank.
func axis(c models.Context, op string, a, rank int) (int, bool) {
	r := a
	if r < 0 {
		r += rank
	}
	if r < 0 || r >= rank {
		c.Core().Failf("%s: axis %d: expected %d..%d for an operand of rank %d", op, a, -rank, rank-1, rank)
		return 0, false
	}
	return r, true
}

// axesOf resolves axes to a sorted list; none means all of them.
func axesOf(c models.Context, op string, axes []int, rank int) ([]int, bool) {
	if len(axes) == 0 {
		all := make([]int, rank)
		for i := range all {
			all[i] = i
		}
		return all, true
	}
	var out []int
	for _, a := range axes {
		r, ok := axis(c, op, a, rank)
		if !ok {
			return nil, false
		}
		if slices.Contains(out, r) {
			c.Core().Failf("%s: axis %d is given twice", op, a)
			return nil, false
		}
		out = append(out, r)
	}
	slices.Sort(out)
	return out, true
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
