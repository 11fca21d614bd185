package heads

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// SequentialHead applies another head to every step of a sequence (tf.estimator's
// SequentialHeadWrapper). Logits are [batch, T, LogitsDimension]. The label, and the
// weight column if the head has one, are ragged features. They have as many values as
// the example has steps, times the label's dimension.
//
// A dense feature, bool [batch, T], marks the steps that are present; only these count
// in the loss and the metrics. Predictions are that mask, and the head's predictions
// with a dimension T after the batch.
type SequentialHead struct {
	static Head
	mask   string
	err    error
}

var _ Head = SequentialHead{}

// Sequential returns a head for every step: a BinaryClassHead, MultiClassHead or
// RegressionHead. mask names the feature that says which steps there are; "" means
// sequence_length_mask.
func Sequential(static Head, mask string) SequentialHead {
	h := SequentialHead{static: static, mask: mask}
	switch static.(type) {
	case BinaryClassHead, MultiClassHead, RegressionHead:
		h.err = Check(static)
	default:
		h.static = BinaryClass()
		h.err = fmt.Errorf("%w: sequential head: %T is not supported: expected a binary, multi-class or regression head", ErrOption, static)
	}
	if mask == "" {
		h.mask = "sequence_length_mask"
	}
	return h
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (h SequentialHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, h, nil) }

// Err returns what is wrong with the head of each step.
func (h SequentialHead) Err() error {
	if h.static == nil { // the zero SequentialHead
		return Sequential(nil, h.mask).err
	}
	return h.err
}

// step returns the head of each step, or some head if there is none.
func (h SequentialHead) step() Head {
	if h.static == nil {
		return BinaryClass()
	}
	return h.static
}

// Mask is the name of the feature that says which steps there are.
func (h SequentialHead) Mask() string { return h.mask }

// LabelDimension is the number of values of a step's label.
func (h SequentialHead) LabelDimension() int {
	_, own := withoutWords(h.step())
	return own.dimension
}

// Name is the head's name with the suffix _sequential, "" if the head has none.
func (h SequentialHead) Name() string {
	if h.step().Name() == "" {
		return ""
	}
	return h.step().Name() + "_sequential"
}

// LogitsDimension is the number of logits per step.
func (h SequentialHead) LogitsDimension() int { return h.step().LogitsDimension() }

// LossReduction is the head's reduction.
func (h SequentialHead) LossReduction() losses.Reduction { return h.step().LossReduction() }

// Spec returns the Spec of mc's mode.
func (h SequentialHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, h, in)
}

// Part returns predictions, loss and metrics.
func (h SequentialHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	if err := h.Err(); err != nil {
		return nil, err
	}
	s, err := h.steps(mc, in)
	if err != nil {
		return nil, err
	}
	static, own := withoutWords(h.step())
	each := Inputs{Logits: s.logits}
	if mc.Mode() != models.Predict {
		if each.Labels, err = s.labels(mc, in.Labels, own); err != nil {
			return nil, err
		}
		if each.Features, err = s.features(mc, in.Features, own.weightColumn); err != nil {
			return nil, err
		}
	}
	p, err := static.Part(mc, each)
	if err != nil {
		return nil, err
	}
	s.unflatten(mc, p, own.classWords())
	s.addMetrics(mc, p, each.Labels, static.Name(), own.sequences)
	p.Predictions[h.mask] = s.mask
	if p.Loss != nil && h.LossReduction() == losses.SumOverBatchSize {
		// The head has divided by all steps, including absent ones.
		all := ops.Sum(mc, ops.OnesLike(mc, s.there))
		p.Loss = ops.Mul(mc, p.Loss, ops.DivNoNan(mc, all, ops.Sum(mc, s.there)))
	}
	return p, mc.Err()
}

// withoutWords returns the head for labels that are ids already, and how labels become ids.
func withoutWords(static Head) (Head, stepLabels) {
	switch h := static.(type) {
	case BinaryClassHead:
		own := stepLabels{h.options, encoding{check: inRange(2), words: h.vocabulary}, 1, false}
		h.vocabulary, h.sequences = nil, nil
		return h, own
	case MultiClassHead:
		own := stepLabels{h.options, encoding{dtype: tensor.Int64, check: inRange(h.dimension), words: h.vocabulary}, 1, true}
		h.vocabulary, h.sequences = nil, nil
		return h, own
	case RegressionHead:
		check := h.check
		if check == nil {
			check = func(float64) error { return nil }
		}
		return h, stepLabels{h.options, encoding{check: check}, h.dimension, false}
	}
	return static, stepLabels{}
}

// stepsOf treats the steps of all examples as examples.
type stepsOf struct {
	shape  []int   // [batch, T]
	logits *G.Node // [batch*T, dimension]
	mask   *G.Node // bool [batch, T]
	there  *G.Node // 0 or 1, [batch*T, 1]
}

func (h SequentialHead) steps(mc *estimator.ModelContext, in Inputs) (s stepsOf, err error) {
	if in.Logits == nil || len(in.Logits.Shape()) != 3 || in.Logits.Shape()[2] != h.LogitsDimension() {
		return s, fmt.Errorf("logits shape of a sequential head must be [batch, steps, logits_dimension], got %v: expected [batch steps %d]", shapeOf(in.Logits), h.LogitsDimension())
	}
	if !slices.Contains(in.Features.Names(), h.mask) {
		return s, fmt.Errorf("the provided sequence_length_mask key %q should be included in the features, but was not found. Found: %v", h.mask, in.Features.Names())
	}
	s.shape = in.Logits.Shape()[:2]
	if s.mask = in.Features.Dense(h.mask); mc.Failed() {
		return s, mc.Err()
	}
	if !slices.Equal(s.mask.Shape(), s.shape) || models.GraphType(s.mask.Dtype()) != tensor.Bool {
		return s, fmt.Errorf("mask %q is %v%v: expected bool%v, the steps of the logits", h.mask, s.mask.Dtype(), s.mask.Shape(), s.shape)
	}
	s.logits = s.flat(mc, in.Logits, h.LogitsDimension())
	s.there = s.flat(mc, ops.Cast(mc, s.mask, mc.DType()), 1)
	return s, mc.Err()
}

// flat returns x [batch, T, ...] as [batch*T, width].
func (s stepsOf) flat(mc *estimator.ModelContext, x *G.Node, width int) *G.Node {
	return ops.Reshape(mc, x, -1, width)
}

// addMetrics adds metrics of the ids of labels and predictions, [batch, T], which are -1 for absent steps.
func (s stepsOf) addMetrics(mc *estimator.ModelContext, p *Part, labels models.Labels, name string, all []NamedMetric) {
	if len(all) == 0 || p.Metrics == nil || mc.Failed() {
		return
	}
	ids := func(x *G.Node) *G.Node {
		x = ops.Reshape(mc, ops.Cast(mc, x, tensor.Int64), s.shape...)
		return ops.Where(mc, s.mask, x, ops.Scalar(mc, tensor.Int64, -1))
	}
	m := metricSet{name: name, all: p.Metrics}
	args := []*G.Node{ids(labels.Only()), ids(p.Predictions["class_ids"])}
	for _, metric := range all {
		m.add(metric.key(), metric.Kind, args, metric.Params...)
	}
}

// unflatten gives predictions and words their step dimension back. The order of the
// nodes is the same in every build.
func (s stepsOf) unflatten(mc *estimator.ModelContext, p *Part, words []string) {
	made := map[*G.Node]*G.Node{}
	one := func(n *G.Node) *G.Node {
		if made[n] == nil && !mc.Failed() {
			made[n] = ops.Reshape(mc, n, slices.Concat(s.shape, n.Shape()[1:])...)
		}
		return made[n]
	}
	nodes := func(in estimator.Nodes) estimator.Nodes {
		out := make(estimator.Nodes, len(in))
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out[name] = one(in[name])
		}
		return out
	}
	texts := func(in estimator.Texts) estimator.Texts {
		out := make(estimator.Texts, len(in))
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out[name] = estimator.Text{IDs: one(in[name].IDs), Vocabulary: words}
		}
		return out
	}
	p.Predictions, p.Texts = nodes(p.Predictions), texts(p.Texts)
	for _, name := range slices.Sorted(maps.Keys(p.ExportOutputs)) {
		e := p.ExportOutputs[name]
		e.Outputs, e.Texts = nodes(e.Outputs), texts(e.Texts)
		p.ExportOutputs[name] = e
	}
}
