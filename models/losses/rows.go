package losses

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// The epsilons of Keras, which keep probabilities and lengths away from 0.
const (
	probabilityEpsilon = 1e-7
	lengthEpsilon      = 1e-12
)

// KLDivergence is sum(labels·log(labels/predictions)) along the last axis, for distributions; both are first limited to
// 1e-7..1 (tf.keras.losses.KLDivergence).
func KLDivergence(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	z, p, ok := pair(c, "kl divergence", labels, predictions)
	if !ok {
		return nil
	}
	z, p = ops.ClipByValue(c, z, probabilityEpsilon, 1), ops.ClipByValue(c, p, probabilityEpsilon, 1)
	return Weighted(c, ops.Sum(c, ops.Mul(c, z, ops.Log(c, ops.Div(c, z, p))), ops.Axes(-1)), o)
}

// CosineSimilarity is the negative cosine of the angle between labels and predictions along the last axis: -1 for equal
// directions (tf.keras.losses.CosineSimilarity).
func CosineSimilarity(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	z, p, ok := pair(c, "cosine similarity", labels, predictions)
	if !ok {
		return nil
	}
	return Weighted(c, ops.Neg(c, ops.Sum(c, ops.Mul(c, unit(c, z), unit(c, p)), ops.Axes(-1))), o)
}

// unit scales vectors along the last axis to length 1 (tf.math.l2_normalize).
func unit(c models.Context, x *G.Node) *G.Node {
	squares := ops.Sum(c, ops.Square(c, x), ops.KeepAxes(-1))
	return ops.Mul(c, x, ops.Rsqrt(c, ops.Maximum(c, squares, constant(c, x, lengthEpsilon))))
}

// Dice is 1 - (2·sum(labels·p) + smooth) / (sum(labels) + sum(p) + smooth) for probabilities p of masks [batch, ...], over
// all numbers of an example (Milletari et al. 2016); before reduction [batch]. smooth is > 0, often 1.
func Dice(c models.Context, labels, predictions *G.Node, smooth float64, o Options) *G.Node {
	z, p, ok := pair(c, "dice", labels, predictions)
	if !ok {
		return nil
	}
	if !(smooth > 0) || len(p.Shape()) < 2 {
		c.Core().Failf("dice: predictions %v, smooth %v: expected [batch, ...] and a number > 0", p.Shape(), smooth)
		return nil
	}
	z, p = ops.Flatten(c, z), ops.Flatten(c, p)
	s := constant(c, p, smooth)
	both := ops.Add(c, ops.Mul(c, constant(c, p, 2), ops.Sum(c, ops.Mul(c, z, p), ops.Axes(-1))), s)
	each := ops.Add(c, ops.Add(c, ops.Sum(c, z, ops.Axes(-1)), ops.Sum(c, p, ops.Axes(-1))), s)
	return Weighted(c, ops.Sub(c, constant(c, p, 1), ops.Div(c, both, each)), o)
}
