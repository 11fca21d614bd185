package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// LookupSparse combines, for each example, the rows of table [rows, ...] that its ids
// select: shape [batch, ...]. The results equal TensorFlow's
// safe_embedding_lookup_sparse. The combiner "sum" is the sum of weight times row;
// "mean" divides it by the sum of the weights, and "sqrtn" by the root of the sum of
// the squared weights.
//
// Negative ids are ignored and, except with "sum", ids whose weight is not positive.
// An example without ids gives zeros. If maxNorm is not 0, rows with a greater L2 norm
// are scaled to it.
//
// If an id is not a row of the table, the step fails with an error that names column,
// row and value. The gradient of the table is sparse. Gradient clipping sees, for each
// row of the table, the sum over the batch.
func LookupSparse(c models.Context, table *G.Node, ids *models.Ragged, combiner string, maxNorm float64) *G.Node {
	const name = "LookupSparse"
	if !readyRagged(c, name, ids, table) || !isTable(c, name, table) || !isIDs(c, name, ids.Values) {
		return nil
	}
	if combiner != "mean" && combiner != "sqrtn" && combiner != "sum" {
		c.Core().Failf("%s: combiner %q: expected mean, sqrtn or sum", name, combiner)
		return nil
	}
	if !(maxNorm >= 0) {
		c.Core().Failf("%s: norm %v: expected a limit > 0, or 0 for none", name, maxNorm)
		return nil
	}
	ids.Below(table.Shape()[0])
	kept, weights := keptIDs(c, table, ids, combiner)
	rows := clipRows(c, rowsOf(c, table, kept), maxNorm)
	if weights != nil {
		rows = Mul(c, rows, column(c, weights, rows))
	}
	numbers := rowNumbers(c, kept, ids.Offsets)
	examples := rowsOfOffsets(ids.Offsets)
	out := examples.sum(c, rows, numbers)
	if combiner == "sum" || c.Core().Failed() {
		return out
	}
	if weights == nil {
		weights = OnesLike(c, Cast(c, kept, models.GraphType(table.Dtype())))
	}
	if combiner == "sqrtn" {
		weights = Square(c, weights)
	}
	by := examples.sum(c, weights, numbers)
	if combiner == "sqrtn" {
		by = Sqrt(c, by)
	}
	return DivNoNan(c, out, column(c, by, out))
}

// Lookup returns the rows of table [rows, ...] at ids (int32 or int64, any shape), and
// zeros for negative ids: shape ids + table[1:]. The gradient of the table is sparse;
// clipping sees it as for LookupSparse.
func Lookup(c models.Context, table, ids *G.Node) *G.Node {
	const name = "Lookup"
	if !ready(c, name, table, ids) || !isTable(c, name, table) || !isIDs(c, name, ids) {
		return nil
	}
	rows := rowsOf(c, table, ids)
	there := Cast(c, GreaterEqual(c, ids, scalarLike(c, ids, 0)), models.GraphType(table.Dtype()))
	return Mul(c, rows, column(c, there, rows))
}

// keptIDs returns the ids that count, with -1 in place of the others, and their weights, nil if all are 1.
func keptIDs(c models.Context, table *G.Node, ids *models.Ragged, combiner string) (kept, weights *G.Node) {
	if ids.Weights == nil {
		return ids.Values, nil
	}
	kept, weights = ids.Values, Cast(c, ids.Weights, models.GraphType(table.Dtype()))
	if combiner != "sum" {
		positive := Greater(c, weights, scalarLike(c, weights, 0))
		kept = Where(c, positive, kept, scalarLike(c, kept, -1))
	}
	return kept, weights
}

// column appends dimensions of 1 to w, which has x's first dimensions, so that it broadcasts to x.
func column(c models.Context, w, x *G.Node) *G.Node {
	if !ready(c, "LookupSparse", w, x) {
		return nil
	}
	shape := append([]int{}, w.Shape()...)
	for len(shape) < len(x.Shape()) {
		shape = append(shape, 1)
	}
	return Reshape(c, w, shape...)
}

// clipRows is clip_by_norm of each row: x * limit / max(norm, limit).
func clipRows(c models.Context, rows *G.Node, limit float64) *G.Node {
	if limit == 0 || !ready(c, "LookupSparse", rows) {
		return rows
	}
	squares := Square(c, rows)
	if n := len(rows.Shape()); n > 1 {
		var axes []int
		for i := 1; i < n; i++ {
			axes = append(axes, i)
		}
		squares = Sum(c, squares, Axes(axes...))
	}
	// Below half the limit the norm does not matter, and the norm of 0 has no gradient.
	norm := Sqrt(c, Maximum(c, squares, scalarLike(c, rows, limit*limit/4)))
	most := scalarLike(c, rows, limit)
	return Mul(c, rows, column(c, Div(c, most, Maximum(c, norm, most)), rows))
}

// rowsOf returns the rows of table at ids. A negative id reads row 0, and the
// gradient leaves it out.
func rowsOf(c models.Context, table, ids *G.Node) *G.Node {
	if !ready(c, "GatherV2", table, ids) {
		return nil
	}
	dt, it := models.GraphType(table.Dtype()), models.GraphType(ids.Dtype())
	out := append(append([]int{}, ids.Shape()...), table.Shape()[1:]...)
	return apply(c, spec{op: "GatherV2", outs: []kind{{table.Dtype(), out}}, consts: []operand{scalarInt("axis", 0)},
		attrs: graph.Attrs{"Tparams": dt, "Tindices": it, "Taxis": tensor.Int32, "batch_dims": int64(0), graph.NegativeLeftOut: true},
		emit: func(e *emission) []graph.Output {
			return e.all(e.in[0], e.notNegative(e.in[1]))
		},
		grad: func(a *adjoint) []*G.Node { return []*G.Node{gatherGrad(a, true), nil} }}, table, ids)
}

// notNegative emits x with 0 in the place of negative elements.
func (e *emission) notNegative(x graph.Output) graph.Output {
	return e.Op("Maximum", e.Name+"/Maximum", x.Type(), graph.Attrs{"T": x.DType()}, x, e.Scalar(e.Name+"/zero", x.DType(), 0))
}
