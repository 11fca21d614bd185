package ops

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TopK returns the k largest values along the last dimension, in descending order, and
// their int32 indices. Of equal values the first comes first. The gradient flows to the
// selected elements.
func TopK(c models.Context, x *G.Node, k int) (values, indices *G.Node) {
	const name = "TopKV2"
	if !classes(c, name, x) {
		return nil, nil
	}
	s := []int(x.Shape())
	if last := s[len(s)-1]; k < 1 || k > last {
		c.Core().Failf("%s: k is %d: expected 1..%d", name, k, last)
		return nil, nil
	}
	out := append(s[:len(s)-1:len(s)-1], k)
	values = apply(c, spec{op: name, outs: []kind{{x.Dtype(), out}, {tensor.Int32, out}}, consts: []operand{scalarInt("k", k)},
		attrs: with(typeAttr(x.Dtype()), "sorted", true),
		grad:  one(func(a *adjoint) *G.Node { return scatterLast(a, a.grad, output(a, a.out, 1), a.in[0]) })}, x)
	return values, output(c, values, 1)
}

// InTopK returns, as bool [batch], whether the prediction for each integer target
// [batch] is among the k largest of predictions [batch, classes]; ties count.
func InTopK(c models.Context, predictions, targets *G.Node, k int) *G.Node {
	const name = "InTopKV2"
	if !floats(c, name, predictions) || !ready(c, name, targets) || !rank(c, name, "predictions", predictions, 2) || !rank(c, name, "targets", targets, 1) {
		return nil
	}
	dt := targets.Dtype()
	if dt != tensor.Int32 && dt != tensor.Int64 || k < 1 || targets.Shape()[0] != predictions.Shape()[0] {
		c.Core().Failf("%s: %v targets %v for predictions %v, k %d: expected one int32 or int64 per row and k >= 1", name, dt, targets.Shape(), predictions.Shape(), k)
		return nil
	}
	ids := models.GraphType(dt)
	return apply(c, spec{op: name, attrs: graph.Attrs{"T": ids}, outs: []kind{{tensor.Bool, targets.Shape()}},
		emit: func(e *emission) []graph.Output {
			return e.all(e.in[0], e.in[1], e.Scalar(e.Name+"/k", ids, float64(k)))
		}}, predictions, targets)
}
