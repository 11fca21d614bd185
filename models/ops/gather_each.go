package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GatherEach returns, for each row of x [batch, n], its elements at the indices
// (int32 or int64) in the same row of indices [batch, k]: [batch, k]. It has no
// gradient.
func GatherEach(c models.Context, x, indices *G.Node) *G.Node {
	const name = "GatherV2"
	if !ready(c, name, x, indices) {
		return nil
	}
	xs, is := x.Shape(), indices.Shape()
	if dt := indices.Dtype(); dt != tensor.Int32 && dt != tensor.Int64 || len(xs) != 2 || len(is) != 2 || xs[0] != is[0] {
		c.Core().Failf("GatherEach: x %v, indices %v%v: expected [batch, n] and int32 or int64 [batch, k]", xs, indices.Dtype(), is)
		return nil
	}
	return apply(c, spec{op: name, outs: []kind{{x.Dtype(), []int(is)}}, consts: []operand{scalarInt("axis", 1)},
		attrs: graph.Attrs{"Tparams": models.GraphType(x.Dtype()), "Tindices": models.GraphType(indices.Dtype()), "Taxis": graph.Int32, "batch_dims": int64(1)}},
		x, indices)
}
