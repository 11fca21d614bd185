package heads

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// WithClassWeights weighs the examples of each class, by class id, in the training loss, as Keras' class_weight does. Evaluation ignores
// class weights. They are multiplied with weights of examples.
func WithClassWeights(w ...float64) Option {
	return Option{"class_weights", func(o *options) { o.classWeights = slices.Clone(w) }}
}

// checkClassWeights reports invalid weights, or weights for another number of classes than n.
func (o options) checkClassWeights(n int) error {
	if o.classWeights == nil {
		return nil
	}
	if len(o.classWeights) != n {
		return fmt.Errorf("%w: class_weights has %d weights, expected one for each of %d classes", ErrOption, len(o.classWeights), n)
	}
	some := false
	for i, w := range o.classWeights {
		if !(w >= 0) || math.IsInf(w, 0) {
			return fmt.Errorf("%w: class_weights: %v of class %d: expected finite numbers from 0 on", ErrOption, w, i)
		}
		some = some || w > 0
	}
	if !some {
		return fmt.Errorf("%w: class_weights are all 0: expected one above 0", ErrOption)
	}
	return nil
}

// weighed returns the weights of examples in the loss. In training they are multiplied by the class weights. labels are ids, [batch, 1].
func (b base) weighed(mc *estimator.ModelContext, labels, weights *G.Node) *G.Node {
	if b.classWeights == nil || !mc.Training() || mc.Failed() {
		return weights
	}
	table := tensor.New(mc.DType(), len(b.classWeights))
	out := cellsOf(table)
	for i, w := range b.classWeights {
		out.set(i, w)
	}
	each := ops.Gather(mc, ops.Constant(mc, table), ops.Cast(mc, labels, tensor.Int64))
	if weights == nil {
		return each
	}
	return ops.Mul(mc, weights, each)
}

// Weighed returns the weights of examples, [batch, 1] or nil for none, multiplied by the class weights if the head has
// any and mc trains. labels come from LabelsOf.
func Weighed(mc *estimator.ModelContext, h Head, labels, weights *G.Node) *G.Node {
	w, ok := h.(interface {
		weighed(mc *estimator.ModelContext, labels, weights *G.Node) *G.Node
	})
	if !ok || mc.Failed() {
		return weights
	}
	if len(labels.Shape()) == 1 {
		labels = ops.ExpandDims(mc, labels, -1)
	}
	return w.weighed(mc, labels, weights)
}
