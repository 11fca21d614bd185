package ops

import (
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SparseSoftmaxCrossEntropyWithLogits returns the cross-entropy [batch] of
// softmax(logits) [batch, classes] and integer labels [batch] (int32 or int64).
func SparseSoftmaxCrossEntropyWithLogits(c models.Context, labels, logits *G.Node) *G.Node {
	const name = "SparseSoftmaxCrossEntropyWithLogits"
	if !ready(c, name, labels, logits) || !floats(c, name, logits) || !rank(c, name, "logits", logits, 2) || !rank(c, name, "labels", labels, 1) {
		return nil
	}
	if dt := labels.Dtype(); dt != tensor.Int32 && dt != tensor.Int64 {
		c.Core().Failf("%s: labels are %v: expected int32 or int64 (ops.Cast converts)", name, dt)
		return nil
	}
	if labels.Shape()[0] != logits.Shape()[0] {
		c.Core().Failf("%s: %v labels for logits %v: expected one per row", name, labels.Shape(), logits.Shape())
		return nil
	}
	return apply(c, spec{op: name, outs: []kind{{logits.Dtype(), labels.Shape()}, kindOf(logits)},
		attrs: with(typeAttr(logits.Dtype()), "Tlabels", models.GraphType(labels.Dtype())),
		grad:  func(a *adjoint) []*G.Node { return []*G.Node{backprop(a), nil} }}, logits, labels)
}

// backprop scales output 1 of a cross-entropy, its gradient for unit weights.
func backprop(a *adjoint) *G.Node {
	return Mul(a, ExpandDims(a, a.grad, -1), output(a, a.out, 1))
}

// SoftmaxCrossEntropyWithLogits returns the cross-entropy [batch] of
// softmax(logits) and the distributions labels, both [batch, classes].
func SoftmaxCrossEntropyWithLogits(c models.Context, labels, logits *G.Node) *G.Node {
	const name = "SoftmaxCrossEntropyWithLogits"
	if !floats(c, name, logits, labels) || !rank(c, name, "logits", logits, 2) {
		return nil
	}
	if !labels.Shape().Eq(logits.Shape()) {
		c.Core().Failf("%s: labels %v and logits %v: expected equal shapes", name, labels.Shape(), logits.Shape())
		return nil
	}
	return apply(c, spec{op: name, attrs: typeAttr(logits.Dtype()),
		outs: []kind{{logits.Dtype(), logits.Shape()[:1]}, kindOf(logits)},
		grad: func(a *adjoint) []*G.Node {
			// TensorFlow's second gradient: -log_softmax(logits), scaled.
			return []*G.Node{backprop(a), Mul(a, ExpandDims(a, a.grad, -1), Neg(a, LogSoftmax(a, a.in[0])))}
		}}, logits, labels)
}

// SigmoidCrossEntropyWithLogits returns, elementwise, the cross-entropy of
// sigmoid(logits) and labels in 0..1, in TensorFlow's stable form
// max(x, 0) - x·z + log(1 + e^-|x|).
func SigmoidCrossEntropyWithLogits(c models.Context, labels, logits *G.Node) *G.Node {
	if !floats(c, "SigmoidCrossEntropyWithLogits", logits, labels) {
		return nil
	}
	zero := scalarLike(c, logits, 0)
	positive := GreaterEqual(c, logits, zero)
	relu := Where(c, positive, logits, zero)
	negAbs := Where(c, positive, Neg(c, logits), logits)
	return Add(c, Sub(c, relu, Mul(c, logits, labels)), Log1p(c, Exp(c, negAbs)))
}
