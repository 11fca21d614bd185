package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// GatherEach returns, for each row of x [batch, n], its elements at the indices
// (int32 or int64) in the same row of indices [batch, k]: [batch, k].
func GatherEach(c models.Context, x, indices *G.Node) *G.Node {
	const name = "GatherV2"
	if !ready(c, name, x, indices) {
		return nil
	}
	xs, is := x.Shape(), indices.Shape()
	if dt := indices.Dtype(); dt != gtensor.Int32 && dt != gtensor.Int64 || len(xs) != 2 || len(is) != 2 || xs[0] != is[0] {
		c.Core().Failf("GatherEach: x %v, indices %v%v: expected [batch, n] and int32 or int64 [batch, k]", xs, indices.Dtype(), is)
		return nil
	}
	return apply(c, spec{op: name, outs: []kind{{x.Dtype(), []int(is)}}, consts: []operand{scalarInt("axis", 1)},
		attrs: graph.Attrs{"Tparams": models.GraphType(x.Dtype()), "Tindices": models.GraphType(indices.Dtype()), "Taxis": tensor.Int32, "batch_dims": int64(1)},
		grad:  func(a *adjoint) []*G.Node { return []*G.Node{scatterLast(a, a.grad, a.in[1], a.in[0]), nil} }}, x, indices)
}
