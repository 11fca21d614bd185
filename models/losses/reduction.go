package losses

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Reduction says how per-element losses become one number. Its values are
// tf.losses.Reduction's.
type Reduction string

// The reductions. The empty one is SumByNonzeroWeights, tf.losses' default.
const (
	None                Reduction = "none"                    // the weighted losses, unreduced
	Sum                 Reduction = "weighted_sum"            // their sum
	Mean                Reduction = "weighted_mean"           // sum divided by the sum of weights
	SumByNonzeroWeights Reduction = "weighted_sum_by_nonzero" // sum divided by the number of nonzero weights
	SumOverBatchSize    Reduction = "weighted_sum_over_batch" // sum divided by the number of losses
)

// ParseReduction returns the reduction of a name: none, sum, mean,
// sum_by_nonzero_weights (also ""), sum_over_batch_size, or TensorFlow's values.
func ParseReduction(name string) (Reduction, error) {
	switch name {
	case "", "sum_by_nonzero_weights":
		return SumByNonzeroWeights, nil
	case "sum":
		return Sum, nil
	case "mean":
		return Mean, nil
	case "sum_over_batch_size":
		return SumOverBatchSize, nil
	}
	switch r := Reduction(name); r {
	case None, Sum, Mean, SumByNonzeroWeights, SumOverBatchSize:
		return r, nil
	}
	return "", fmt.Errorf("unknown reduction %q: expected none, sum, mean, sum_by_nonzero_weights or sum_over_batch_size", name)
}

// Options say how a loss is weighed and reduced. The zero value is tf.losses' default.
type Options struct {
	Weights   *G.Node // nil: 1; a scalar, or a shape that broadcasts to the losses (dimensions equal or 1)
	Reduction Reduction
}

// Weighted multiplies losses by weights and reduces them, as
// tf.losses.compute_weighted_loss does.
func Weighted(c models.Context, losses *G.Node, o Options) *G.Node {
	b := c.Core()
	if b.Failed() {
		return nil
	}
	reduction, err := ParseReduction(string(o.Reduction))
	if err != nil {
		b.Failf("loss: %w", err)
		return nil
	}
	d := models.GraphType(losses.Dtype())
	weighted, weights := losses, o.Weights
	if weights != nil {
		weights = align(c, losses, ops.Cast(c, weights, d))
		weighted = ops.Mul(c, losses, weights)
	}
	if b.Failed() || reduction == None {
		return weighted
	}
	if weights == nil && reduction != Sum {
		return ops.Mean(c, weighted) // all other denominators are the number of losses
	}
	sum := ops.Sum(c, weighted)
	switch reduction {
	case Sum:
		return sum
	case Mean:
		return ops.DivNoNan(c, sum, ops.Sum(c, spread(c, weights, losses)))
	case SumOverBatchSize:
		return ops.Mean(c, weighted)
	}
	present := ops.Cast(c, ops.NotEqual(c, weights, ops.Scalar(c, d, 0)), d)
	return ops.DivNoNan(c, sum, ops.Sum(c, spread(c, present, losses)))
}

// align appends dimensions of 1 to the weights until they have the losses' rank, or
// removes a last dimension of 1, as TensorFlow does.
func align(c models.Context, losses, weights *G.Node) *G.Node {
	for !c.Core().Failed() && len(weights.Shape()) > 0 && len(weights.Shape()) < len(losses.Shape()) {
		weights = ops.ExpandDims(c, weights, -1)
	}
	if c.Core().Failed() {
		return nil
	}
	ws, ls := weights.Shape(), losses.Shape()
	if len(ws) == len(ls)+1 && ws[len(ws)-1] == 1 {
		weights = ops.Squeeze(c, weights, -1)
		ws = ws[:len(ls)]
	}
	for i := range ws {
		if len(ws) != len(ls) || ws[i] != ls[i] && ws[i] != 1 {
			c.Core().Failf("loss: weights %v for losses %v: expected a scalar or dimensions that are equal or 1", ws, ls)
			return nil
		}
	}
	return weights
}

// spread broadcasts weights to the shape of the losses, to count them.
func spread(c models.Context, weights, losses *G.Node) *G.Node {
	if c.Core().Failed() || weights.Shape().Eq(losses.Shape()) {
		return weights
	}
	return ops.Mul(c, weights, ops.OnesLike(c, losses))
}
