package ops

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// Gather returns the rows of table [rows, ...] at indices (int32 or int64, any shape):
// shape indices + table[1:]. The gradient of the table is sparse: no tensor of the
// table's size is made. As in TensorFlow, gradient clipping counts each index as a
// separate row, even if it repeats an earlier one.
func Gather(c models.Context, table, indices *G.Node) *G.Node {
	const name = "GatherV2"
	if !ready(c, name, table, indices) {
		return nil
	}
	if dt := indices.Dtype(); dt != gtensor.Int32 && dt != gtensor.Int64 {
		c.Core().Failf("%s: indices are %v: expected int32 or int64 (ops.Cast converts)", name, dt)
		return nil
	}
	if len(table.Shape()) == 0 {
		c.Core().Failf("%s: the table is a scalar: expected [rows, ...]", name)
		return nil
	}
	out := slices.Concat([]int(indices.Shape()), []int(table.Shape()[1:]))
	ids := models.GraphType(indices.Dtype())
	return apply(c, spec{op: name, outs: []kind{{table.Dtype(), out}}, consts: []operand{scalarInt("axis", 0)},
		attrs: graph.Attrs{"Tparams": models.GraphType(table.Dtype()), "Tindices": ids, "Taxis": tensor.Int32, "batch_dims": int64(0)},
		grad:  func(a *adjoint) []*G.Node { return []*G.Node{gatherGrad(a, false), nil} }}, table, indices)
}

// gatherGrad represents a tensor with the table's shape; it lowers to the rows of the
// gradient and their indices. With byIndex, rows of equal index count as one, as in
// TensorFlow's lookups of sparse ids: see lower.Slices.
func gatherGrad(a *adjoint, byIndex bool) *G.Node {
	table, indices := a.in[0], a.in[1]
	n := elements(indices.Shape())
	width := []int(table.Shape()[1:])
	return apply(a, spec{op: "IndexedSlices", outs: []kind{kindOf(table)}, rows: func(e *emission) lower.Value {
		g, ids := e.in[0], e.in[1]
		return lower.SparseValue(graph.ShapeOf(table.Shape()...), lower.Slices{Rows: e.reshape("values", g, slices.Concat([]int{n}, width)...),
			Indices: e.reshape("indices", ids, n), ByIndex: byIndex})
	}}, a.grad, indices)
}

// reshape emits a Reshape unless x already has the shape.
func (e *emission) reshape(name string, x graph.Output, shape ...int) graph.Output {
	t := graph.Type{DType: x.DType(), Shape: graph.ShapeOf(shape...)}
	if t.Shape.Equal(x.Shape()) {
		return x
	}
	return e.Op("Reshape", e.Name+"/"+name, t, graph.Attrs{"T": x.DType(), "Tshape": tensor.Int32}, x, e.constant(vector(name+"/shape", shape...)))
}

// OneHot returns, for integer indices of any shape, a new last dimension of
// depth entries of the given type: 1 at the index, else 0. An index outside of
// 0..depth-1 gives zeros. It has no gradient.
func OneHot(c models.Context, indices *G.Node, depth int, d tensor.DType) *G.Node {
	if !ready(c, "OneHot", indices) {
		return nil
	}
	dt, err := models.GorgoniaType(d)
	if err != nil || depth < 1 || isFloat(indices) {
		c.Core().Failf("OneHot: %v indices, depth %d, type %v: expected integers, a depth >= 1 and a numeric type", indices.Dtype(), depth, d)
		return nil
	}
	return apply(c, spec{op: "OneHot", outs: []kind{{dt, append([]int(indices.Shape()), depth)}},
		attrs: graph.Attrs{"T": d, "TI": models.GraphType(indices.Dtype()), "axis": int64(-1)},
		emit: func(e *emission) []graph.Output {
			return e.all(e.in[0], e.constant(scalarInt("depth", depth)), e.Scalar(e.Name+"/on_value", d, 1), e.Scalar(e.Name+"/off_value", d, 0))
		}}, indices)
}
