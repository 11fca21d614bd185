package heads

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// MultiClassHead classifies each example into one of three or more classes: softmax
// cross-entropy over class ids (tf.estimator.MultiClassHead). Predictions are
// logits, probabilities, class_ids, classes, all_class_ids and all_classes;
// metrics are accuracy and average_loss. Labels may also be the probabilities of the
// classes, floats [batch, classes]; metrics then take the most probable class.
type MultiClassHead struct{ base }

var _ Head = MultiClassHead{}

// MultiClass returns a head for n classes, more than two (see ForClasses). It
// takes WithName, WithWeightColumn, WithLabelVocabulary, WithClassNames, WithLossReduction, WithLossFn, WithClassWeights and WithMetrics.
func MultiClass(n int, opts ...Option) MultiClassHead {
	o, err := newOptions("multi-class", []string{"label_vocabulary", "class_names", "loss_fn", "class_weights"}, opts)
	switch {
	case n <= 2:
		err = fmt.Errorf("%w: n_classes must be > 2: %d; or 2, for which there is a head of its own", ErrOption, n)
	case err == nil:
		err = errors.Join(o.checkClasses(n), o.checkClassWeights(n))
	}
	b := base{o, n, err}
	if err == nil {
		b.err = b.checkClassMetrics(ofClassIDs, ofScores)
	}
	return MultiClassHead{b}
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (h MultiClassHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, h, nil) }

// Spec returns the Spec of mc's mode.
func (h MultiClassHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, h, in)
}

// Part returns predictions, loss and metrics.
func (h MultiClassHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	if err := errors.Join(h.checkLogits(in.Logits), h.checkSteps()); err != nil {
		return nil, err
	}
	z := in.Logits
	ids := ops.ExpandDims(mc, ops.ArgMax(mc, z, 1), -1)
	p := &Part{Predictions: estimator.Nodes{"logits": z, "probabilities": ops.Softmax(mc, z)}}
	h.classifying(p, ids, allClassIDs(mc, z, h.dimension))
	if mc.Mode() == models.Predict || mc.Failed() {
		return p, mc.Err()
	}
	column, crossEntropy, err := h.crossEntropy(mc, in)
	if err != nil {
		return nil, err
	}
	weights, err := h.weights(mc, in.Features, false)
	if err != nil {
		return nil, err
	}
	each, total, err := h.loss(mc, LossInputs{column, z, in.Features}, h.weighed(mc, column, weights), 1, crossEntropy)
	if err != nil {
		return nil, err
	}
	p.Loss = total
	m := h.newMetrics(weights)
	m.add("average_loss", "mean", []*G.Node{each})
	m.add("accuracy", "accuracy", []*G.Node{column, ids})
	if err := m.addMore(h.base, map[operand][]*G.Node{ofClassIDs: {column, ids}, ofScores: {column, z}}); err != nil {
		return nil, err
	}
	p.Metrics = m.all
	return p, mc.Err()
}

// labels returns class ids, int64 [batch].
func (h MultiClassHead) labels(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	t, err := only(mc, labels)
	if err != nil {
		return nil, err
	}
	if err := t.dense(1); err != nil {
		return nil, err
	}
	if err := h.checkWords(t); err != nil {
		return nil, err
	}
	if h.vocabulary == nil && !whole(t.dtype()) {
		return nil, mistakef("labels dtype should be integer. Instead got %v, of label %s: expected class ids in [0, %d): set its dtype to int64, or give the column a vocabulary", t.dtype(), t.name, h.dimension)
	}
	return t.encode(mc, encoding{tensor.Int64, nil, inRange(h.dimension), h.vocabulary}), mc.Err()
}
