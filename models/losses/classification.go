package losses

import (
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// SparseSoftmaxCrossEntropy is the cross-entropy of softmax(logits) [batch,
// classes] and integer labels [batch] or [batch, 1]; before reduction [batch].
func SparseSoftmaxCrossEntropy(c models.Context, labels, logits *G.Node, o Options) *G.Node {
	if !given(c, "sparse softmax cross-entropy", labels, logits) {
		return nil
	}
	if s := labels.Shape(); len(s) == 2 && s[1] == 1 {
		labels = ops.Squeeze(c, labels, 1)
	}
	return Weighted(c, ops.SparseSoftmaxCrossEntropyWithLogits(c, labels, logits), o)
}

// SoftmaxCrossEntropy is the cross-entropy of softmax(logits) and label
// distributions (one-hot, for example), both [batch, classes]. No gradient
// flows into the labels.
func SoftmaxCrossEntropy(c models.Context, labels, logits *G.Node, o Options) *G.Node {
	if !given(c, "softmax cross-entropy", labels, logits) {
		return nil
	}
	labels = ops.StopGradient(c, ops.Cast(c, labels, models.GraphType(logits.Dtype())))
	return Weighted(c, ops.SoftmaxCrossEntropyWithLogits(c, labels, logits), o)
}

// SmoothLabels moves the fraction smoothing (0 to 1) of the weight of one-hot
// labels [batch, classes] evenly to all classes. Labels that are not float are
// cast to the model's float type.
func SmoothLabels(c models.Context, labels *G.Node, smoothing float64) *G.Node {
	if !given(c, "label smoothing", labels) {
		return nil
	}
	s := labels.Shape()
	if len(s) < 2 || !(smoothing >= 0 && smoothing <= 1) {
		c.Core().Failf("label smoothing: labels %v, smoothing %v: expected one-hot labels [batch, classes] and a fraction in 0..1", s, smoothing)
		return nil
	}
	d := models.GraphType(labels.Dtype())
	if !d.Float() {
		d = c.Core().DType()
		labels = ops.Cast(c, labels, d)
	}
	kept := ops.Mul(c, labels, ops.Scalar(c, d, 1-smoothing))
	return ops.Add(c, kept, ops.Scalar(c, d, smoothing/float64(s[len(s)-1])))
}

// SigmoidCrossEntropy is the elementwise cross-entropy of sigmoid(logits) and
// labels in 0..1 of the same shape.
func SigmoidCrossEntropy(c models.Context, labels, logits *G.Node, o Options) *G.Node {
	labels, logits, ok := pair(c, "sigmoid cross-entropy", labels, logits)
	if !ok {
		return nil
	}
	return Weighted(c, ops.SigmoidCrossEntropyWithLogits(c, labels, logits), o)
}

// Hinge is max(0, 1 - (2·labels-1)·logits) for labels 0 or 1.
func Hinge(c models.Context, labels, logits *G.Node, o Options) *G.Node {
	labels, logits, ok := pair(c, "hinge", labels, logits)
	if !ok {
		return nil
	}
	one := constant(c, logits, 1)
	sign := ops.Sub(c, ops.Mul(c, labels, constant(c, logits, 2)), one)
	return Weighted(c, ops.Relu(c, ops.Sub(c, one, ops.Mul(c, sign, logits))), o)
}

// LogLoss is -labels·log(p+1e-7) - (1-labels)·log(1-p+1e-7) for probabilities p.
func LogLoss(c models.Context, labels, predictions *G.Node, o Options) *G.Node {
	labels, p, ok := pair(c, "log loss", labels, predictions)
	if !ok {
		return nil
	}
	one, eps := constant(c, p, 1), constant(c, p, 1e-7)
	yes := ops.Mul(c, labels, ops.Log(c, ops.Add(c, p, eps)))
	no := ops.Mul(c, ops.Sub(c, one, labels), ops.Log(c, ops.Add(c, ops.Sub(c, one, p), eps)))
	return Weighted(c, ops.Sub(c, ops.Neg(c, yes), no), o)
}

// given reports whether a loss can inspect its operands.
func given(c models.Context, loss string, in ...*G.Node) bool {
	b := c.Core()
	for i, n := range in {
		if n == nil && !b.Failed() {
			b.Failf("%s: operand %d is nil: expected a node", loss, i)
		}
	}
	return !b.Failed()
}

// pair casts labels to the predictions' type and checks that their shapes are equal,
// up to a last dimension of 1.
func pair(c models.Context, loss string, labels, predictions *G.Node) (l, p *G.Node, ok bool) {
	if !given(c, loss, labels, predictions) {
		return nil, nil, false
	}
	labels = ops.Cast(c, labels, models.GraphType(predictions.Dtype()))
	if c.Core().Failed() {
		return nil, nil, false
	}
	ls, ps := labels.Shape(), predictions.Shape()
	switch {
	case len(ps) == len(ls)+1 && ps[len(ps)-1] == 1:
		labels = ops.ExpandDims(c, labels, -1)
	case len(ls) == len(ps)+1 && ls[len(ls)-1] == 1:
		labels = ops.Squeeze(c, labels, -1)
	}
	if c.Core().Failed() || !labels.Shape().Eq(ps) {
		c.Core().Failf("%s: labels %v and predictions %v: expected equal shapes", loss, ls, ps)
		return nil, nil, false
	}
	return labels, predictions, true
}

func constant(c models.Context, like *G.Node, v float64) *G.Node {
	return ops.Scalar(c, models.GraphType(like.Dtype()), v)
}
