package layers

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// recurrence is a layer between two steps.
type recurrence struct {
	models.Context
	units        int
	kernel, bias *G.Node // of the recurrent product; bias may be nil
	h, c         *G.Node // [batch, units]; c of an LSTM
}

// begin sets the state to zeros of as many rows as x. Even a single step thus
// depends on all variables, which are the same whatever the number of steps.
func (r *recurrence) begin(x *G.Node) {
	r.h = ops.ZerosLike(r, ops.Slice(r, x, []int{0, 0}, []int{-1, r.units}))
	r.c = r.h
}

// step goes one step on; x is what the input adds to the gates, [batch, gates*units].
func (r *recurrence) step(cell Cell, x *G.Node) {
	back := ops.MatMul(r, r.h, r.kernel)
	switch cell {
	case SimpleRNN:
		r.h = ops.Tanh(r, ops.Add(r, x, back))
	case LSTM:
		r.lstm(r.gates(ops.Add(r, x, back), 4))
	case GRU:
		r.gru(r.gates(x, 3), r.gates(ops.BiasAdd(r, back, r.bias), 3))
	}
}

func (r *recurrence) lstm(z []*G.Node) {
	r.c = ops.Add(r, ops.Mul(r, ops.Sigmoid(r, z[1]), r.c), ops.Mul(r, ops.Sigmoid(r, z[0]), ops.Tanh(r, z[2])))
	r.h = ops.Mul(r, ops.Sigmoid(r, z[3]), ops.Tanh(r, r.c))
}

func (r *recurrence) gru(in, back []*G.Node) {
	z := ops.Sigmoid(r, ops.Add(r, in[0], back[0]))
	reset := ops.Sigmoid(r, ops.Add(r, in[1], back[1]))
	fresh := ops.Tanh(r, ops.Add(r, in[2], ops.Mul(r, reset, back[2])))
	r.h = ops.Add(r, fresh, ops.Mul(r, z, ops.Sub(r, r.h, fresh)))
}

// gates takes x apart.
func (r *recurrence) gates(x *G.Node, n int) []*G.Node {
	out := make([]*G.Node, n)
	for i := range out {
		out[i] = ops.Slice(r, x, []int{0, i * r.units}, []int{-1, r.units})
	}
	return out
}

// keep takes the state back where there is no step.
func (r *recurrence) keep(cell Cell, there *G.Node, before recurrence) {
	r.h = ops.Where(r, there, r.h, before.h)
	if cell == LSTM {
		r.c = ops.Where(r, there, r.c, before.c)
	}
}

// apart returns x[0], x[1], ... It halves x again and again, so that the gradient
// takes T log T, not T*T, elements of x.
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
