package heads

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// MultiLabelHead predicts for each of several classes whether an example is in it, by
// sigmoid cross-entropy averaged over the classes (tf.estimator.MultiLabelHead). Labels
// are 0 or 1 per class, [batch, n_classes], or lists of class ids or words. Lists are
// ragged; lists of words may also have a fixed length. Predictions are logits,
// probabilities and classes, which lists all classes.
type MultiLabelHead struct{ base }

var _ Head = MultiLabelHead{}

// MultiLabel returns a head for n classes, at least two. It takes WithName,
// WithWeightColumn, WithThresholds, WithLabelVocabulary, WithClassNames, WithLossReduction,
// WithLossFn, WithMetrics, WithClassMetrics and WithClassMetricsByName.
func MultiLabel(n int, opts ...Option) MultiLabelHead {
	o, err := newOptions("multi-label", []string{"thresholds", "label_vocabulary", "class_names", "loss_fn", "classes_for_class_based_metrics"}, opts)
	if n < 2 {
		err = fmt.Errorf("%w: n_classes must be > 1 for multi-label classification. Given: %d", ErrOption, n)
	}
	if err == nil {
		err = o.checkClasses(n)
	}
	if err == nil {
		err = o.resolveClasses(n)
	}
	b := base{o, n, err}
	if err == nil {
		b.err = b.checkMetrics(ofProbabilities, ofLabels)
	}
	return MultiLabelHead{b}
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (h MultiLabelHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, h, nil) }

// resolveClasses checks the classes with metrics of their own, and turns names into ids.
func (o *options) resolveClasses(n int) error {
	words := o.classWords()
	if len(o.classNames) > 0 && words == nil {
		return fmt.Errorf("%w: label_vocabulary must be provided when classes_for_class_based_metrics are strings", ErrOption)
	}
	for _, w := range o.classNames {
		i := slices.Index(words, w)
		if i < 0 {
			return fmt.Errorf("%w: classes_for_class_based_metrics: %q is not in the label_vocabulary %q", ErrOption, w, words)
		}
		o.classMetrics = append(o.classMetrics, i)
	}
	for _, id := range o.classMetrics {
		if id < 0 || id >= n {
			return fmt.Errorf("%w: all classes_for_class_based_metrics must be in range [0, %d]. Given: %d", ErrOption, n-1, id)
		}
	}
	return nil
}

// Spec returns the Spec of mc's mode.
func (h MultiLabelHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, h, in)
}

// Part returns predictions, loss and metrics.
func (h MultiLabelHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	if err := h.checkLogits(in.Logits); err != nil {
		return nil, err
	}
	z := in.Logits
	p := &Part{Predictions: estimator.Nodes{"logits": z, "probabilities": ops.Sigmoid(mc, z)}}
	h.classifying(p, nil, allClassIDs(mc, z, h.dimension))
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
	each, total, err := h.loss(mc, LossInputs{labels, z, in.Features}, weights, 1, func(o losses.Options) *G.Node {
		each := losses.SigmoidCrossEntropy(mc, labels, z, losses.Options{Reduction: losses.None})
		return losses.Weighted(mc, ops.Mean(mc, each, ops.KeepAxes(1)), o)
	})
	if err != nil {
		return nil, err
	}
	p.Loss = total
	if p.Metrics, err = h.measured(mc, weights, each, labels, p.Predictions["probabilities"]); err != nil {
		return nil, err
	}
	return p, mc.Err()
}

// labels returns 0 and 1 as floats [batch, classes].
func (h MultiLabelHead) labels(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	t, err := only(mc, labels)
	if err != nil {
		return nil, err
	}
	if t.dtype() == tensor.String || t.ragged {
		if err := h.checkWords(t); t.dtype() == tensor.String && err != nil {
			return nil, err
		}
		if t.dtype() != tensor.String && !whole(t.dtype()) {
			return nil, mistakef("labels dtype should be integer. Instead got %v, of label %s: set its dtype to int64, or give a label_vocabulary", t.dtype(), t.name)
		}
		return t.multiHot(mc, h.dimension, h.vocabulary), mc.Err()
	}
	if err := t.dense(h.dimension); err != nil {
		return nil, err
	}
	return t.encode(mc, encoding{mc.DType(), []int{h.dimension}, indicator, nil}), mc.Err()
}

// indicator checks that a number is 0 or 1.
func indicator(v float64) error {
	if v != 0 && v != 1 {
		return fmt.Errorf("label %v: labels must be an integer indicator tensor with values in [0, 1]: %s", v, correctOrLeaveOut)
	}
	return nil
}

func (h MultiLabelHead) measured(mc *estimator.ModelContext, weights, each, labels, probabilities *G.Node) (estimator.Metrics, error) {
	m := h.newMetrics(weights)
	m.add("average_loss", "mean", []*G.Node{each})
	m.addAUC("", labels, probabilities)
	m.addAt(h.thresholds, labels, probabilities)
	for _, id := range h.classMetrics {
		suffix := fmt.Sprintf("/class%d", id)
		if words := h.classWords(); words != nil {
			suffix = "/" + words[id]
		}
		y, p := column(mc, labels, id, 1), column(mc, probabilities, id, 1)
		m.add("probability_mean"+suffix, "mean", []*G.Node{p})
		m.addAUC(suffix, y, p)
	}
	both := []*G.Node{labels, probabilities}
	err := m.addMore(h.base, map[operand][]*G.Node{ofProbabilities: both, ofLabels: both})
	return m.all, err
}

// column returns width columns of x [batch, ...], beginning with from.
func column(mc *estimator.ModelContext, x *G.Node, from, width int) *G.Node {
	return ops.Slice(mc, x, []int{0, from}, []int{-1, width})
}
