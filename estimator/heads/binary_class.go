package heads

import (
	"errors"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// BinaryClassHead classifies each example into one of two classes by one logit:
// sigmoid cross-entropy over labels 0 and 1 (tf.estimator.BinaryClassHead).
// Predictions are logits, logistic, probabilities [batch, 2], class_ids, classes,
// all_class_ids and all_classes.
type BinaryClassHead struct{ base }

var _ Head = BinaryClassHead{}

// BinaryClass returns a head for two classes. It takes WithName,
// WithWeightColumn, WithThresholds, WithLabelVocabulary, WithClassNames, WithLossReduction, WithLossFn, WithClassWeights and WithMetrics.
func BinaryClass(opts ...Option) BinaryClassHead {
	o, err := newOptions("binary class", []string{"thresholds", "label_vocabulary", "class_names", "loss_fn", "class_weights"}, opts)
	if err == nil {
		err = errors.Join(o.checkClasses(2), o.checkClassWeights(2))
	}
	b := base{o, 1, err}
	if err == nil {
		b.err = b.checkClassMetrics(ofProbabilities, ofClassIDs)
	}
	return BinaryClassHead{b}
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (h BinaryClassHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, h, nil) }

// Spec returns the Spec of mc's mode.
func (h BinaryClassHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, h, in)
}

// Mean returns the prediction for logits of any shape: the probability of the second class.
func (h BinaryClassHead) Mean(c models.Context, logits *G.Node) *G.Node {
	return ops.Sigmoid(c, logits)
}

// Part returns predictions, loss and metrics.
func (h BinaryClassHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	if err := errors.Join(h.checkLogits(in.Logits), h.checkSteps()); err != nil {
		return nil, err
	}
	z := in.Logits
	two := ops.Concat(mc, 1, ops.ZerosLike(mc, z), z)
	class := ops.ArgMax(mc, two, 1)
	logistic := h.Mean(mc, z)
	p := &Part{Predictions: estimator.Nodes{"logits": z, "logistic": logistic, "probabilities": ops.Softmax(mc, two)}}
	h.classifying(p, ops.ExpandDims(mc, class, -1), allClassIDs(mc, z, 2))
	p.ExportOutputs["regression"] = regressing(logistic)
	if mc.Mode() == models.Predict || mc.Failed() {
		return p, mc.Err()
	}
	labels, err := h.labels(mc, in.Labels)
	if err != nil {
		return nil, err
	}
	weights, err := h.weights(mc, in.Features, false)
	if err != nil {
		return nil, err
	}
	each, total, err := h.loss(mc, LossInputs{labels, z, in.Features}, h.weighed(mc, labels, weights), 1, func(o losses.Options) *G.Node {
		return losses.SigmoidCrossEntropy(mc, labels, z, o)
	})
	if err != nil {
		return nil, err
	}
	p.Loss = total
	if p.Metrics, err = h.measured(weights, each, labels, p); err != nil {
		return nil, err
	}
	return p, mc.Err()
}

// labels returns 0 and 1 as floats [batch, 1].
func (h BinaryClassHead) labels(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
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
	return t.encode(mc, encoding{mc.DType(), []int{1}, inRange(2), h.vocabulary}), mc.Err()
}

// checkWords compares the type of labels with the vocabulary.
func (b base) checkWords(t target) error {
	switch words := t.dtype() == tensor.String; {
	case b.vocabulary != nil && !words:
		return mistakef("labels dtype should be string if there is a vocabulary. Instead got %v, of label %s: leave label_vocabulary out, or set the column's dtype to string", t.dtype(), t.name)
	case b.vocabulary == nil && words:
		return mistakef("label %s is text: give a label_vocabulary, or give the column a vocabulary", t.name)
	}
	return nil
}

func (h BinaryClassHead) measured(weights, each, labels *G.Node, p *Part) (estimator.Metrics, error) {
	m := h.newMetrics(weights)
	logistic, ids := p.Predictions["logistic"], p.Predictions["class_ids"]
	m.add("average_loss", "mean", []*G.Node{each})
	for _, kind := range []string{"accuracy", "precision", "recall"} {
		m.add(kind, kind, []*G.Node{labels, ids})
	}
	m.add("prediction/mean", "mean", []*G.Node{logistic})
	m.add("label/mean", "mean", []*G.Node{labels})
	m.add("accuracy_baseline", "accuracy_baseline", []*G.Node{labels})
	m.addAUC("", labels, logistic)
	m.addAt(h.thresholds, labels, logistic)
	err := m.addMore(h.base, map[operand][]*G.Node{ofProbabilities: {labels, logistic}, ofClassIDs: {labels, ids}})
	return m.all, err
}
