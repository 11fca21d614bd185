package losses

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Focal weighs the examples of a focal loss (Lin et al. 2017).
type Focal struct {
	// Gamma >= 0 lowers the weight of well-predicted examples: it is (1-p)^gamma for the probability p of the
	// label. 0 is cross-entropy.
	Gamma float64
	// Alpha in 0..1 is the weight of label 1, and 1-Alpha of label 0; with several classes it weighs all. 0: no weights.
	Alpha float64
}

// ok fails for parameters out of range.
func (f Focal) ok(c models.Context, loss string) bool {
	if !(f.Gamma >= 0) || !(f.Alpha >= 0 && f.Alpha <= 1) {
		c.Core().Failf("%s: gamma %v, alpha %v: expected gamma >= 0 and alpha in 0..1", loss, f.Gamma, f.Alpha)
		return false
	}
	return true
}

// SigmoidFocal is the focal loss of sigmoid(logits) and labels in 0..1, elementwise
// (tf.keras.losses.BinaryFocalCrossentropy of logits).
func SigmoidFocal(c models.Context, labels, logits *G.Node, f Focal, o Options) *G.Node {
	const name = "sigmoid focal"
	z, x, ok := pair(c, name, labels, logits)
	if !ok || !f.ok(c, name) {
		return nil
	}
	one, p := constant(c, x, 1), ops.Sigmoid(c, x)
	missed := ops.Sub(c, one, ops.Add(c, ops.Mul(c, z, p), ops.Mul(c, ops.Sub(c, one, z), ops.Sub(c, one, p))))
	loss := ops.Mul(c, ops.Pow(c, missed, constant(c, x, f.Gamma)), ops.SigmoidCrossEntropyWithLogits(c, z, x))
	if f.Alpha > 0 {
		alpha := constant(c, x, f.Alpha)
		loss = ops.Mul(c, loss, ops.Add(c, ops.Mul(c, z, alpha), ops.Mul(c, ops.Sub(c, one, z), ops.Sub(c, one, alpha))))
	}
	return Weighted(c, loss, o)
}

// SoftmaxFocal is the focal loss of softmax(logits) and label distributions (one-hot, for example), both
// [batch, classes]; before reduction [batch]. It is tf.keras.losses.CategoricalFocalCrossentropy, except for
// probabilities below 1e-7, which Keras clips.
func SoftmaxFocal(c models.Context, labels, logits *G.Node, f Focal, o Options) *G.Node {
	const name = "softmax focal"
	z, x, ok := pair(c, name, labels, logits)
	if !ok || !f.ok(c, name) || !matrix(c, name, x) {
		return nil
	}
	log := ops.LogSoftmax(c, x)
	missed := ops.Sub(c, constant(c, x, 1), ops.Exp(c, log))
	loss := ops.Neg(c, ops.Sum(c, ops.Mul(c, ops.Mul(c, z, log), ops.Pow(c, missed, constant(c, x, f.Gamma))), ops.Axes(-1)))
	if f.Alpha > 0 {
		loss = ops.Mul(c, loss, constant(c, x, f.Alpha))
	}
	return Weighted(c, loss, o)
}

// matrix fails unless an operand has rank 2.
func matrix(c models.Context, loss string, x *G.Node) bool {
	if c.Core().Failed() {
		return false
	}
	if s := x.Shape(); len(s) != 2 {
		c.Core().Failf("%s: predictions %v: expected [batch, columns]", loss, s)
		return false
	}
	return true
}
