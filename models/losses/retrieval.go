package losses

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// InBatch is the cross-entropy of finding, for each query [batch, width], its own candidate [batch, width] among the
// candidates of the batch, by softmax(queries·candidatesᵀ/temperature) (sampled softmax with in-batch negatives, as
// tfrs.tasks.Retrieval); before reduction [batch].
func InBatch(c models.Context, candidates, queries *G.Node, temperature float64, o Options) *G.Node {
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
	return Weighted(c, ops.SoftmaxCrossEntropyWithLogits(c, diagonal(c, scores), scores), o)
}

// diagonal is the identity matrix of the shape and type of x [n, n], where n may depend on the batch.
func diagonal(c models.Context, x *G.Node) *G.Node {
	row := ops.CumSum(c, ops.OnesLike(c, ops.Max(c, ops.StopGradient(c, x), ops.Axes(1))), 0, ops.Scan{})
	own := ops.Equal(c, ops.ExpandDims(c, row, 1), ops.ExpandDims(c, row, 0))
	if c.Core().Failed() {
		return nil
	}
	return ops.Cast(c, own, models.GraphType(x.Dtype()))
}
