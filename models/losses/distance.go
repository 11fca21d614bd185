package losses

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Contrastive is labels·d² + (1-labels)·max(0, margin-d)² for distances d, elementwise. Label 1 marks a pair that belongs
// together (Hadsell et al. 2006).
func Contrastive(c models.Context, labels, distances *G.Node, margin float64, o Options) *G.Node {
	z, d, ok := pair(c, "contrastive", labels, distances)
	if !ok {
		return nil
	}
	near := ops.Mul(c, z, ops.Square(c, d))
	far := ops.Mul(c, ops.Sub(c, constant(c, d, 1), z), ops.Square(c, ops.Relu(c, ops.Sub(c, constant(c, d, margin), d))))
	return Weighted(c, ops.Add(c, near, far), o)
}

// Triplet is max(0, |anchor-positive| - |anchor-negative| + margin) for rows [batch, width]; before reduction [batch]. As
// in torch.nn.TripletMarginLoss, 1e-6 is added to differences, so that equal rows have a gradient.
func Triplet(c models.Context, anchor, positive, negative *G.Node, margin float64, o Options) *G.Node {
	const name = "triplet"
	positive, anchor, ok := pair(c, name, positive, anchor)
	if !ok {
		return nil
	}
	negative, _, ok = pair(c, name, negative, anchor)
	if !ok || !matrix(c, name, anchor) {
		return nil
	}
	apart := ops.Sub(c, distance(c, anchor, positive), distance(c, anchor, negative))
	return Weighted(c, ops.Relu(c, ops.Add(c, apart, constant(c, anchor, margin))), o)
}

// distance returns the Euclidean distance of rows.
func distance(c models.Context, x, y *G.Node) *G.Node {
	d := ops.Add(c, ops.Sub(c, x, y), constant(c, x, 1e-6))
	return ops.Sqrt(c, ops.Sum(c, ops.Square(c, d), ops.Axes(-1)))
}

// TripletSemiHard is the triplet loss of a batch of embeddings [batch, width] with class ids [batch] or [batch, 1]. The
// negative for each pair of one class is the nearest embedding of another class that is farther away than the pair, or
// else the farthest one (Schroff et al. 2015; tfa.losses.TripletSemiHardLoss). Distances are squared. The result is a
// scalar, 0 without pairs.
func TripletSemiHard(c models.Context, labels, embeddings *G.Node, margin float64) *G.Node {
	const name = "triplet semi-hard"
	if !given(c, name, labels, embeddings) || !matrix(c, name, embeddings) {
		return nil
	}
	n := embeddings.Shape()[0]
	if labels.Shape().TotalSize() != n {
		c.Core().Failf("%s: labels %v, embeddings %v: expected one class id per row", name, labels.Shape(), embeddings.Shape())
		return nil
	}
	d := squaredDistances(c, embeddings)
	ids := ops.Flatten(c, labels)
	if len(labels.Shape()) == 1 {
		ids = ops.ExpandDims(c, labels, 1)
	}
	same := ops.Cast(c, ops.Equal(c, ids, ops.Transpose(c, ids, 1, 0)), models.GraphType(embeddings.Dtype()))
	other := ops.Sub(c, constant(c, d, 1), same)

	positives := ops.Sub(c, same, diagonal(c, d))
	fixed := ops.StopGradient(c, d)
	negative := semiHard(c, fixed, other)
	gap := ops.Add(c, ops.Sub(c, fixed, ops.GatherEach(c, fixed, negative)), constant(c, d, margin))
	active := ops.Mul(c, positives, ops.Cast(c, ops.Greater(c, gap, constant(c, d, 0)), models.GraphType(embeddings.Dtype())))
	// The loss is linear in the distances: each counts once as a pair, minus the times that it is a negative.
	times := ops.Sub(c, active, counts(c, active, negative))
	loss := ops.Add(c, ops.Sum(c, ops.Mul(c, times, d)), ops.Mul(c, constant(c, d, margin), ops.Sum(c, active)))
	return ops.DivNoNan(c, loss, ops.Sum(c, positives))
}

// counts sums for each row and column the weights [n, n] of the row whose indices [n, n] are the column.
func counts(c models.Context, weights, indices *G.Node) *G.Node {
	columns := ops.Sub(c, ops.CumSum(c, ops.OnesLike(c, indices), 1, ops.Scan{}), ops.OnesLike(c, indices))
	chosen := ops.Equal(c, ops.ExpandDims(c, indices, 2), ops.ExpandDims(c, columns, 1))
	return ops.Sum(c, ops.Where(c, chosen, ops.ExpandDims(c, weights, 2), constant(c, weights, 0)), ops.Axes(1))
}

// semiHard returns the negative for each pair of rows, int64 [n, n]: of the rows of other classes, the nearest one that is
// farther away than the pair, or else the farthest one.
func semiHard(c models.Context, d, other *G.Node) *G.Node {
	pair := ops.ExpandDims(c, d, 2)
	third := ops.ExpandDims(c, d, 1)
	farther := ops.LogicalAnd(c, ops.Greater(c, third, pair), ops.Greater(c, ops.ExpandDims(c, other, 1), constant(c, d, 0)))
	beyond := ops.Add(c, ops.ExpandDims(c, ops.Max(c, d, ops.KeepAxes(1)), 1), constant(c, d, 1))
	nearest := ops.ArgMin(c, ops.Where(c, farther, third, beyond), 2)
	farthest := ops.ExpandDims(c, ops.ArgMax(c, ops.Where(c, ops.Greater(c, other, constant(c, d, 0)), d, constant(c, d, -1)), 1), 1)
	return ops.Where(c, ops.AnyTrue(c, farther, ops.Axes(2)), nearest, farthest)
}

// squaredDistances returns the squared distances of all pairs of rows, [n, n].
func squaredDistances(c models.Context, x *G.Node) *G.Node {
	squares := ops.Sum(c, ops.Square(c, x), ops.KeepAxes(1))
	products := ops.Mul(c, ops.MatMulT(c, x, x, false, true), constant(c, x, 2))
	return ops.Relu(c, ops.Sub(c, ops.Add(c, squares, ops.Transpose(c, squares, 1, 0)), products))
}
