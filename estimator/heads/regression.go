package heads

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// Regression predicts real values: mean squared error, the mean over the batch.
// The prediction is "predictions"; metrics are average_loss, prediction/mean,
// label/mean and, besides tf.estimator's, rmse and mae.
type Regression struct{ dimension int }

var _ Head = Regression{}

// NewRegression returns a head for labels of n values per example.
func NewRegression(n int) (Regression, error) {
	if n < 1 {
		return Regression{}, fmt.Errorf("label_dimension must be >= 1: %d", n)
	}
	return Regression{n}, nil
}

// LogitsDimension is the number of values per label.
func (h Regression) LogitsDimension() int { return h.dimension }

// Spec returns the Spec of mc's mode.
func (h Regression) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	if err := checkLogits(in.Logits, h.dimension); err != nil {
		return nil, err
	}
	predictions := estimator.Nodes{"predictions": in.Logits}
	spec := &estimator.Spec{Mode: mc.Mode(), Predictions: predictions}
	spec.ExportOutputs = map[string]estimator.ExportOutput{
		"serving_default": {Kind: estimator.ExportRegress, Outputs: estimator.Nodes{"outputs": in.Logits}},
		"regression":      {Kind: estimator.ExportRegress, Outputs: estimator.Nodes{"outputs": in.Logits}},
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
	column := weights
	if column != nil && column.Shape().Dims() == 1 {
		column = ops.ExpandDims(mc, column, -1)
	}
	loss := losses.MeanSquaredError(mc, labels, in.Logits, losses.Options{Weights: column, Reduction: losses.SumOverBatchSize})
	spec.EvalMetrics = estimator.Metrics{
		"average_loss":    estimator.NewMetric("mse", operands(weights, labels, in.Logits)...),
		"rmse":            estimator.NewMetric("rmse", operands(weights, labels, in.Logits)...),
		"mae":             estimator.NewMetric("mae", operands(weights, labels, in.Logits)...),
		"prediction/mean": estimator.NewMetric("mean", operands(weights, in.Logits)...),
		"label/mean":      estimator.NewMetric("mean", operands(weights, labels)...),
	}
	return trained(mc, spec, loss, in.Optimizer), mc.Err()
}

// labels returns float labels [batch, dimension].
func (h Regression) labels(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	n, err := label(mc, labels)
	if err != nil {
		return nil, err
	}
	if d := models.GraphType(n.Dtype()); d == models.String || d == models.Bool {
		return nil, fmt.Errorf("label %s has type %v: expected numbers", labels.Names()[0], d)
	}
	n = ops.Cast(mc, n, mc.DType())
	if mc.Failed() {
		return nil, mc.Err()
	}
	s := n.Shape()
	if len(s) == 1 && h.dimension == 1 {
		return ops.ExpandDims(mc, n, -1), mc.Err()
	}
	if len(s) != 2 || s[1] != h.dimension {
		return nil, fmt.Errorf("mismatched label shape: expected labels dimension=%d, received %v", h.dimension, s)
	}
	return n, nil
}
