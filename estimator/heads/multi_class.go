package heads

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// MultiClass classifies each example into one of several classes: softmax
// cross-entropy over integer labels in [0, classes), the mean over the batch.
// Predictions are logits, probabilities and class_ids; metrics are accuracy and
// average_loss.
type MultiClass struct{ classes int }

var _ Head = MultiClass{}

// NewMultiClass returns a head for n classes, at least two.
func NewMultiClass(n int) (MultiClass, error) {
	if n < 2 {
		return MultiClass{}, fmt.Errorf("n_classes must be >= 2: %d", n)
	}
	return MultiClass{n}, nil
}

// LogitsDimension is the number of classes.
func (h MultiClass) LogitsDimension() int { return h.classes }

// Spec returns the Spec of mc's mode.
func (h MultiClass) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	if err := checkLogits(in.Logits, h.classes); err != nil {
		return nil, err
	}
	ids := ops.ArgMax(mc, in.Logits, 1)
	predictions := estimator.Nodes{"logits": in.Logits, "probabilities": ops.Softmax(mc, in.Logits), "class_ids": ops.ExpandDims(mc, ids, -1)}
	spec := &estimator.Spec{Mode: mc.Mode(), Predictions: predictions}
	spec.ExportOutputs = map[string]estimator.ExportOutput{
		"serving_default": {Kind: estimator.ExportClassify, Outputs: estimator.Nodes{"scores": predictions["probabilities"]}},
		"classification":  {Kind: estimator.ExportClassify, Outputs: estimator.Nodes{"scores": predictions["probabilities"]}},
		"predict":         {Kind: estimator.ExportPredict, Outputs: predictions},
	}
	if mc.Mode() == models.Predict {
		return spec, mc.Err()
	}
	labels, err := h.labels(mc, in.Labels)
	if err != nil {
		return nil, err
	}
	weights := in.Features.Weights()
	each := losses.SparseSoftmaxCrossEntropy(mc, labels, in.Logits, losses.Options{Reduction: losses.None})
	loss := losses.SparseSoftmaxCrossEntropy(mc, labels, in.Logits, losses.Options{Weights: weights, Reduction: losses.SumOverBatchSize})
	spec.EvalMetrics = estimator.Metrics{
		"accuracy":     estimator.NewMetric("accuracy", operands(weights, labels, ids)...),
		"average_loss": {New: func() (metrics.Accumulator, error) { return metrics.NewMean(), nil }, Args: operands(weights, each)},
	}
	return trained(mc, spec, loss, in.Optimizer), mc.Err()
}

// labels returns integer labels [batch].
func (h MultiClass) labels(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	n, err := label(mc, labels)
	if err != nil {
		return nil, err
	}
	switch d := models.GraphType(n.Dtype()); d {
	case models.Int32, models.Int64:
	case models.Uint8, models.Bool:
		n = ops.Cast(mc, n, models.Int64)
	default:
		return nil, fmt.Errorf("label %s has type %v: expected integers in [0, %d); give text labels a vocabulary", labels.Names()[0], d, h.classes)
	}
	switch s := n.Shape(); {
	case len(s) == 1:
		return n, nil
	case len(s) == 2 && s[1] == 1:
		return ops.Squeeze(mc, n, 1), nil
	default:
		return nil, fmt.Errorf("mismatched label shape: expected labels of shape [batch] or [batch 1], received %v", s)
	}
}
