package layers

import (
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// Rnn are the options of a recurrent layer.
type Rnn struct {
	Name string // scope; "" is the cell's name, made unique, such as "lstm_cell"
	Cell Cell
}

// Recurrent runs a cell along the steps of x [batch, T, features] and returns its
// output after each step, [batch, T, units]. Where mask, bool [batch, T], is false, a
// step changes nothing: its output repeats the previous output, or is zero at the
// beginning. So the output at step T is always the output after the example's last
// step. A nil mask is true everywhere.
func Recurrent(c models.Context, x, mask *G.Node, o Rnn) (y *G.Node) {
	if !usable(c, "recurrent", x, 3) {
		return nil
	}
	b := c.Core()
	if o.Cell == nil || o.Cell.Name() == "" {
		b.Failf("recurrent: expected a cell with a name")
		return nil
	}
	if err := o.Cell.Check(); err != nil {
		b.Failf("recurrent: %s: %w", o.Cell.Name(), err)
		return nil
	}
	if s := x.Shape(); mask != nil && !slices.Equal(mask.Shape(), s[:2]) {
		b.Failf("recurrent: the mask has shape %v, the input %v: expected %v", mask.Shape(), s, s[:2])
		return nil
	}
	scope(c, o.Name, o.Cell.Name(), func() { y = along(c, x, mask, o.Cell) })
	return y
}

// along iterates over the steps.
func along(c models.Context, x, mask *G.Node, cell Cell) *G.Node {
	// Steps first, so that one step of all examples is contiguous in memory.
	x = ops.Transpose(c, x, 1, 0, 2)
	if c.Core().Failed() {
		return nil
	}
	r := recurrence{Context: c, cell: cell, steps: cell.Begin(c, x)}
	if c.Core().Failed() || !r.begin(x) {
		return nil
	}
	var there []*G.Node
	if mask != nil {
		there = apart(c, ops.ExpandDims(c, ops.Transpose(c, mask, 1, 0), -1))
	}
	out := make([]*G.Node, x.Shape()[0])
	for t, xt := range apart(c, r.steps.Inputs) {
		var here *G.Node
		if mask != nil {
			here = there[t]
		}
		if !r.step(xt, here) {
			return nil
		}
		out[t] = ops.ExpandDims(c, r.output, 1)
	}
	return ops.Concat(c, 1, out...)
}

// recurrence is the state of a layer between two steps.
type recurrence struct {
	models.Context
	cell   Cell
	steps  *Steps
	states []*G.Node
	output *G.Node // nil before the first step
}

// begin checks what the cell's Begin returned and sets the states to zeros with the rows
// of x. The zeros are not constants: even a single step depends on all variables, so the
// variables are the same for any number of steps.
func (r *recurrence) begin(x *G.Node) bool {
	s := r.steps
	if s == nil || s.Step == nil {
		return r.fail("expected steps from Begin")
	}
	if s.Inputs == nil {
		s.Inputs = x
	}
	if in := s.Inputs.Shape(); len(in) < 2 || in[0] != x.Shape()[0] || in[1] != x.Shape()[1] {
		return r.fail("inputs of shape %v for an input %v: expected [%d, %d, ...]", in, x.Shape(), x.Shape()[0], x.Shape()[1])
	}
	for i, n := range s.States {
		if n < 1 {
			return r.fail("state %d is %d wide: expected >= 1", i, n)
		}
		r.states = append(r.states, r.zeros(x, n))
	}
	return !r.Core().Failed()
}

// zeros returns zeros [batch, n] for x [T, batch, features].
func (r *recurrence) zeros(x *G.Node, n int) *G.Node {
	one := ops.ZerosLike(r, ops.Squeeze(r, ops.Slice(r, x, []int{0, 0, 0}, []int{1, -1, 1}), 0))
	if r.Core().Failed() {
		return nil
	}
	return ops.Add(r, one, ops.Constant(r, tensor.New(models.GraphType(one.Dtype()), n)))
}

// step advances by one step, where there is true or nil.
func (r *recurrence) step(x, there *G.Node) bool {
	if r.Core().Failed() {
		return false
	}
	output, next := r.steps.Step(x, slices.Clone(r.states))
	if r.Core().Failed() {
		return false
	}
	if output == nil || len(output.Shape()) != 2 || len(next) != len(r.states) {
		return r.fail("expected an output [batch, units] and %d states from a step", len(r.states))
	}
	for i, n := range next {
		if n == nil || !slices.Equal(n.Shape(), r.states[i].Shape()) {
			return r.fail("state %d after a step: expected the shape %v, as before it", i, r.states[i].Shape())
		}
	}
	if there == nil {
		r.output, r.states = output, next
		return true
	}
	kept := make([]*G.Node, len(next))
	for i, n := range next {
		kept[i] = ops.Where(r, there, n, r.states[i])
	}
	if i := slices.Index(next, output); i >= 0 && (r.output == nil || r.output == r.states[i]) {
		r.output = kept[i]
	} else {
		if r.output == nil {
			r.output = ops.ZerosLike(r, output)
		}
		r.output = ops.Where(r, there, output, r.output)
	}
	r.states = kept
	return !r.Core().Failed()
}

func (r *recurrence) fail(format string, args ...any) bool {
	r.Core().Failf("recurrent: cell %s: "+format, append([]any{r.cell.Name()}, args...)...)
	return false
}

// apart returns x[0], x[1], ... It halves x repeatedly, so that the gradient needs
// T log T, not T*T, elements of x.
func apart(c models.Context, x *G.Node) []*G.Node {
	if c.Core().Failed() {
		return nil
	}
	s := x.Shape()
	if s[0] == 1 {
		return []*G.Node{ops.Squeeze(c, x, 0)}
	}
	half := s[0] / 2
	begin, size := make([]int, len(s)), make([]int, len(s))
	for i := range size {
		size[i] = -1
	}
	size[0] = half
	first := apart(c, ops.Slice(c, x, begin, size))
	begin[0], size[0] = half, s[0]-half
	return append(first, apart(c, ops.Slice(c, x, begin, size))...)
}
