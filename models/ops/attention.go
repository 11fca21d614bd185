package ops

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
)

// Attending are the options of Attention.
type Attending struct {
	Mask    *G.Node // which keys a query sees: bool, broadcasting to [batch, heads, queries, keys]; nil: all
	Causal  bool    // query i sees keys 0..i
	Dropout float64 // fraction of the weights that is set to zero, in every mode
}

// Attention returns softmax(q·kᵀ/√depth)·v for each head (Vaswani et al. 2017): q is
// [batch, queries, heads, depth], k [batch, keys, groups, depth], v [batch, keys,
// groups, width], the result [batch, queries, heads, width]. The number of heads is a
// multiple of groups; consecutive heads share a group. One group is multi-query
// attention. A query that sees no key gets zeros.
//
// Neither values nor gradients need the whole matrix of weights: memory grows linearly
// with the lengths. Exports use products and softmax of TensorFlow and ONNX.
func Attention(c models.Context, q, k, v *G.Node, o Attending) *G.Node {
	const name = "_Attention"
	if !floats(c, name, q, k, v) || !rank(c, name, "queries", q, 4) || !rank(c, name, "keys", k, 4) || !rank(c, name, "values", v, 4) {
		return nil
	}
	qs, ks, vs := q.Shape(), k.Shape(), v.Shape()
	if ks[0] != qs[0] || vs[0] != qs[0] || ks[3] != qs[3] || vs[1] != ks[1] || vs[2] != ks[2] || qs[2]%ks[2] != 0 {
		c.Core().Failf("%s: queries %v, keys %v, values %v: expected [batch, length, heads, depth], heads of keys and values that divide those of queries", name, qs, ks, vs)
		return nil
	}
	if !(o.Dropout >= 0 && o.Dropout < 1) {
		c.Core().Failf("%s: rate %v: expected 0 <= rate < 1", name, o.Dropout)
		return nil
	}
	in := []*G.Node{q, k, v}
	if o.Mask != nil {
		full := []int{qs[0], qs[2], qs[1], ks[1]}
		got, fits := broadcast(full, o.Mask.Shape())
		if !bools(c, name, o.Mask) || !fits || len(o.Mask.Shape()) != 4 || !slices.Equal(got, full) {
			c.Core().Failf("%s: the mask has shape %v: expected rank 4, broadcasting to %v", name, o.Mask.Shape(), full)
			return nil
		}
		in = append(in, o.Mask)
	}
	attrs := with(typeAttr(q.Dtype()), "causal", o.Causal, "masked", o.Mask != nil, "drop", float32(o.Dropout))
	outs := []kind{{q.Dtype(), []int{qs[0], qs[1], qs[2], vs[3]}}, {q.Dtype(), []int{qs[0], qs[2], qs[1]}}}
	return apply(c, spec{op: name, outs: outs, attrs: attrs, emit: func(e *emission) []graph.Output {
		return e.all(e.dropping(e.in, e.Name, o.Dropout)...)
	}, grad: func(a *adjoint) []*G.Node {
		outs := []kind{kindOf(q), kindOf(k), kindOf(v)}
		all := append(slices.Clone([]*G.Node(a.in[:3])), a.out, output(a, a.out, 1), a.grad)
		all = append(all, a.in[3:]...)
		name := a.out.Op().(*op).name // the gradient uses the same random numbers
		dq := apply(a, spec{op: "_AttentionGrad", outs: outs, attrs: attrs, emit: func(e *emission) []graph.Output {
			return e.all(e.dropping(e.in, name, o.Dropout)...)
		}}, all...)
		return append([]*G.Node{dq, output(a, dq, 1), output(a, dq, 2)}, make([]*G.Node, len(a.in)-3)...)
	}}, in...)
}

// dropping appends key and counter of the random numbers if weights are dropped.
func (e *emission) dropping(in []graph.Output, stream string, rate float64) []graph.Output {
	if rate == 0 {
		return in
	}
	key, counter := e.randomState(stream)
	return append(slices.Clone(in), key, counter)
}
