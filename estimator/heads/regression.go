package heads

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// RegressionHead predicts real values, with squared error (tf.estimator.RegressionHead)
// or the losses of Poisson and Logistic. Predictions are "predictions" and, with an
// inverse link, "logits". Metrics are average_loss, prediction/mean, label/mean and, for
// squared error, rmse and mae.
type RegressionHead struct {
	base
	own   func(mc *estimator.ModelContext, labels, logits *G.Node, o losses.Options) *G.Node // nil: squared error
	check func(float64) error                                                                // of one label; nil: any number
}

var _ Head = RegressionHead{}

// Regression returns a head for labels of n values per example. It takes
// WithName, WithWeightColumn, WithLossReduction, WithLossFn, WithInverseLink, WithLabelScale and WithMetrics.
func Regression(n int, opts ...Option) RegressionHead {
	h := newRegression("regression", n, []string{"loss_fn", "inverse_link_fn", "label_scale"}, opts)
	if h.lossFn == nil { // loss_fn may allow such numbers
		h.check = func(v float64) error {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("label %v: labels must be finite: %s", v, correctOrLeaveOut)
			}
			return nil
		}
	}
	return h
}

// Poisson returns a head for n counts per example, whose logits are logarithms
// of rates (tf.estimator.PoissonRegressionHead). It takes WithName,
// WithWeightColumn, WithLossReduction, WithFullLoss and WithMetrics.
func Poisson(n int, opts ...Option) RegressionHead {
	h := newRegression("Poisson", n, []string{"compute_full_loss"}, opts)
	h.inverseLink = ops.Exp
	h.own = func(mc *estimator.ModelContext, labels, logits *G.Node, o losses.Options) *G.Node {
		return losses.LogPoisson(mc, labels, logits, !h.shortLoss, o)
	}
	h.check = func(v float64) error {
		if !(v >= 0) {
			return fmt.Errorf("label %v: labels must be >= 0: %s", v, correctOrLeaveOut)
		}
		return nil
	}
	return h
}

// Logistic returns a head for labels in [0, 1], whose logits are log-odds
// (tf.estimator.LogisticRegressionHead). It takes WithName, WithWeightColumn,
// WithLossReduction and WithMetrics.
func Logistic(opts ...Option) RegressionHead {
	h := newRegression("logistic", 1, nil, opts)
	h.inverseLink = ops.Sigmoid
	h.own = func(mc *estimator.ModelContext, labels, logits *G.Node, o losses.Options) *G.Node {
		return losses.SigmoidCrossEntropy(mc, labels, logits, o)
	}
	h.check = func(v float64) error {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("label %v: labels must be in range [0, 1]: %s", v, correctOrLeaveOut)
		}
		return nil
	}
	return h
}

func newRegression(head string, n int, takes []string, opts []Option) RegressionHead {
	o, err := newOptions(head, takes, opts)
	if err == nil {
		err = o.checkScale()
	}
	if n < 1 {
		err = fmt.Errorf("%w: invalid label_dimension %d", ErrOption, n)
	}
	b := base{o, n, err}
	if err == nil {
		b.err = b.checkMetrics(ofNumbers)
	}
	return RegressionHead{base: b}
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (h RegressionHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, h, nil) }

// Spec returns the Spec of mc's mode.
func (h RegressionHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, h, in)
}

// Part returns predictions, loss and metrics.
func (h RegressionHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	if err := h.checkLogits(in.Logits); err != nil {
		return nil, err
	}
	z := in.Logits
	p := h.predicted(mc, z)
	if mc.Mode() == models.Predict || mc.Failed() {
		return p, mc.Err()
	}
	labels, err := h.labels(mc, in.Labels)
	if err != nil {
		return nil, err
	}
	weights, err := h.weights(mc, in.Features, true)
	if err != nil {
		return nil, err
	}
	want := h.scaled(mc, labels)
	each, total, err := h.loss(mc, LossInputs{want, z, in.Features}, weights, h.dimension, func(o losses.Options) *G.Node {
		if h.own != nil {
			return h.own(mc, want, z, o)
		}
		return losses.MeanSquaredError(mc, want, z, o)
	})
	if err != nil {
		return nil, err
	}
	p.Loss = total
	if p.Metrics, err = h.measured(weights, each, labels, p.Predictions["predictions"]); err != nil {
		return nil, err
	}
	return p, mc.Err()
}

// predicted returns predictions and signatures.
func (h RegressionHead) predicted(mc *estimator.ModelContext, z *G.Node) *Part {
	p := &Part{Predictions: estimator.Nodes{"predictions": h.Mean(mc, z)}}
	if h.inverseLink != nil {
		p.Predictions["logits"] = z
	}
	regress := regressing(p.Predictions["predictions"])
	p.ExportOutputs = map[string]estimator.ExportOutput{
		"serving_default": regress,
		"regression":      regress,
		"predict":         {Kind: estimator.ExportPredict, Outputs: p.Predictions},
	}
	return p
}

// Mean returns the prediction for logits of any shape: the inverse link, or the inverse of the label scale, applied to them.
func (h RegressionHead) Mean(c models.Context, logits *G.Node) *G.Node {
	if h.inverseLink == nil {
		return h.unscaled(c, logits)
	}
	return h.inverseLink(c, logits)
}

// labels returns floats [batch, dimension].
func (h RegressionHead) labels(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	t, err := only(mc, labels)
	if err != nil {
		return nil, err
	}
	if err := t.dense(h.dimension); err != nil {
		return nil, err
	}
	if d := t.dtype(); d == tensor.String || d == tensor.Bool {
		return nil, mistakef("label %s has type %v: expected numbers: for classes take a classifier", t.name, d)
	}
	if h.check == nil {
		return t.numbers(mc, h.dimension), mc.Err()
	}
	return t.encode(mc, encoding{mc.DType(), []int{h.dimension}, h.check, nil}), mc.Err()
}

func (h RegressionHead) measured(weights, each, labels, predictions *G.Node) (estimator.Metrics, error) {
	m := h.newMetrics(weights)
	m.add("average_loss", "mean", []*G.Node{each})
	m.add("prediction/mean", "mean", []*G.Node{predictions})
	m.add("label/mean", "mean", []*G.Node{labels})
	if h.own == nil && h.lossFn == nil {
		m.add("rmse", "rmse", []*G.Node{labels, predictions})
		m.add("mae", "mae", []*G.Node{labels, predictions})
	}
	err := m.addMore(h.base, map[operand][]*G.Node{ofNumbers: {labels, predictions}})
	return m.all, err
}
