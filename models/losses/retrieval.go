package losses

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// InBatch is the cross-entropy of finding, for each query [batch, width], its own candidate [batch, width] among the
// candidates of the batch, by softmax(queries·candidatesᵀ/temperature): sampled softmax with in-batch negatives, as in
// tfrs.tasks.Retrieval. Before reduction it is [batch].
func InBatch(c models.Context, candidates, queries *G.Node, temperature float64, o Options) *G.Node {
	return inBatch(c, candidates, queries, nil, temperature, o)
}

// InBatchByID is InBatch for candidates with ids [batch], which a batch may repeat: other occurrences of a query's candidate are no
// negatives (remove_accidental_hits of tfrs.tasks.Retrieval).
func InBatchByID(c models.Context, candidates, queries, ids *G.Node, temperature float64, o Options) *G.Node {
	if c.Core().Failed() {
		return nil
	}
	if ids == nil || len(ids.Shape()) != 1 {
		c.Core().Failf("in-batch softmax: expected ids of candidates, [batch]")
		return nil
	}
	return inBatch(c, candidates, queries, ids, temperature, o)
}

// hidden is a score that does not contribute to a softmax; its product with a label of 0 is 0.
const hidden = -1e9

func inBatch(c models.Context, candidates, queries, ids *G.Node, temperature float64, o Options) *G.Node {
	const name = "in-batch softmax"
	candidates, queries, ok := pair(c, name, candidates, queries)
	if !ok || !matrix(c, name, queries) {
		return nil
	}
	if !(temperature > 0) {
		c.Core().Failf("%s: temperature %v: expected a number > 0", name, temperature)
		return nil
	}
	scores := ops.Div(c, ops.MatMulT(c, queries, candidates, false, true), constant(c, queries, temperature))
	own := onDiagonal(c, scores)
	if ids != nil {
		same := ops.Equal(c, ops.ExpandDims(c, ids, 1), ops.ExpandDims(c, ids, 0))
		scores = ops.MaskedFill(c, scores, ops.LogicalAnd(c, same, ops.LogicalNot(c, own)), hidden)
	}
	if c.Core().Failed() {
		return nil
	}
	return Weighted(c, ops.SoftmaxCrossEntropyWithLogits(c, ops.Cast(c, own, models.GraphType(scores.Dtype())), scores), o)
}

// onDiagonal marks the diagonal of x [n, n], where n may depend on the batch.
func onDiagonal(c models.Context, x *G.Node) *G.Node {
	row := ops.CumSum(c, ops.OnesLike(c, ops.Max(c, ops.StopGradient(c, x), ops.Axes(1))), 0, ops.Scan{})
	return ops.Equal(c, ops.ExpandDims(c, row, 1), ops.ExpandDims(c, row, 0))
}

// diagonal returns the identity matrix with the shape and type of x [n, n].
func diagonal(c models.Context, x *G.Node) *G.Node {
	own := onDiagonal(c, x)
	if c.Core().Failed() {
		return nil
	}
	return ops.Cast(c, own, models.GraphType(x.Dtype()))
}
