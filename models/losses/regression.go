package losses

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// MeanSquaredError is (predictions - labels)² elementwise.
func MeanSquaredError(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	labels, predictions, ok := pair(c, "mean squared error", labels, predictions)
	if !ok {
		return nil
	}
	return Weighted(c, ops.SquaredDifference(c, predictions, labels), o)
}

// MeanAbsoluteError is |predictions - labels| elementwise (tf.losses.absolute_difference).
func MeanAbsoluteError(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	labels, predictions, ok := pair(c, "mean absolute error", labels, predictions)
	if !ok {
		return nil
	}
	return Weighted(c, ops.Abs(c, ops.Sub(c, predictions, labels)), o)
}

// Quantile is the pinball loss: q·(labels - predictions) where the prediction is less than the label, else
// (1-q)·(predictions - labels). Minimising it predicts the quantile q of the labels, in (0, 1); 0.5 is the median.
func Quantile(c models.Context, labels, predictions *G.Node, q float64, o Options) *G.Node {
	labels, predictions, ok := pair(c, "quantile", labels, predictions)
	if !ok {
		return nil
	}
	short := ops.Sub(c, labels, predictions)
	return Weighted(c, ops.Maximum(c, ops.Mul(c, constant(c, short, q), short), ops.Mul(c, constant(c, short, q-1), short)), o)
}

// Huber is error²/2 where |error| <= delta, else delta·|error| - delta²/2.
func Huber(c models.Context, labels, predictions *G.Node, delta float64, o Options) *G.Node {
	labels, predictions, ok := pair(c, "huber", labels, predictions)
	if !ok {
		return nil
	}
	size := ops.Abs(c, ops.Sub(c, predictions, labels))
	quadratic := ops.Minimum(c, size, constant(c, size, delta))
	linear := ops.Sub(c, size, quadratic)
	half := ops.Mul(c, constant(c, size, 0.5), ops.Square(c, quadratic))
	return Weighted(c, ops.Add(c, half, ops.Mul(c, constant(c, size, delta), linear)), o)
}

// Poisson is predictions - labels·log(predictions), elementwise, where
// predictions are positive rates.
func Poisson(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	labels, p, ok := pair(c, "poisson", labels, predictions)
	if !ok {
		return nil
	}
	log := ops.Log(c, ops.Add(c, p, constant(c, p, 1e-7)))
	return Weighted(c, ops.Sub(c, p, ops.Mul(c, labels, log)), o)
}

// LogPoisson is exp(logRates) - labels·logRates, elementwise, where labels are
// counts (tf.nn.log_poisson_loss). The full loss adds Stirling's approximation of
// log(labels!), labels·log(labels) - labels + log(2π·labels)/2, for labels above 1.
func LogPoisson(c models.Context, labels, logRates *G.Node, full bool, o Options) *G.Node {
	labels, z, ok := pair(c, "log poisson", labels, logRates)
	if !ok {
		return nil
	}
	loss := ops.Sub(c, ops.Exp(c, z), ops.Mul(c, labels, z))
	if full {
		loss = ops.Add(c, loss, stirling(c, labels))
	}
	return Weighted(c, loss, o)
}

// stirling is the approximation of log(n!) for n > 1, else 0.
func stirling(c models.Context, n *G.Node) *G.Node {
	one := constant(c, n, 1)
	safe := ops.Maximum(c, n, one) // avoids log(0) where the result is not used
	half := ops.Mul(c, constant(c, n, 0.5), ops.Log(c, ops.Mul(c, constant(c, n, 2*math.Pi), safe)))
	log := ops.Add(c, ops.Sub(c, ops.Mul(c, safe, ops.Log(c, safe)), safe), half)
	above := ops.Cast(c, ops.Greater(c, n, one), models.GraphType(n.Dtype()))
	return ops.Mul(c, above, log)
}

// CosineDistance is 1 - sum(labels·predictions) along the last axis; both must
// have unit length along it.
func CosineDistance(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	labels, predictions, ok := pair(c, "cosine distance", labels, predictions)
	if !ok {
		return nil
	}
	similar := ops.Sum(c, ops.Mul(c, predictions, labels), ops.KeepAxes(-1))
	return Weighted(c, ops.Sub(c, constant(c, predictions, 1), similar), o)
}
