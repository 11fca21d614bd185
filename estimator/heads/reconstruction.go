package heads

import (
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// ReconstructionHead is for networks that reproduce their features, such as autoencoders. The features are the labels; labels of the input
// are ignored. Predictions are "reconstruction", "logits" if there is an inverse link, and "error": the mean squared error of an example,
// which is large if the example is unlike the training examples. Metrics are average_loss, rmse and mae.
type ReconstructionHead struct{ base }

var _ Head = ReconstructionHead{}

// Reconstruction returns a head for n numbers; 0 means as many as the features have, for networks that find out themselves. It takes
// WithName, WithWeightColumn, WithLossReduction, WithLossFn, WithInverseLink and WithMetrics.
func Reconstruction(n int, opts ...Option) ReconstructionHead {
	o, err := newOptions("reconstruction", []string{"loss_fn", "inverse_link_fn"}, opts)
	if n < 0 {
		err = fmt.Errorf("%w: reconstruction of %d numbers: expected 0 or more", ErrOption, n)
	}
	b := base{o, n, err}
	if err == nil {
		b.err = b.checkMetrics(ofNumbers)
	}
	return ReconstructionHead{b}
}

// Of returns the model_fn of a network with this head; the Estimator's optimizer trains it.
func (h ReconstructionHead) Of(n networks.Network) estimator.ModelFn { return ModelFn(n, h, nil) }

// Spec returns the Spec of mc's mode.
func (h ReconstructionHead) Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error) {
	return spec(mc, h, in)
}

// Part returns predictions, loss and metrics.
func (h ReconstructionHead) Part(mc *estimator.ModelContext, in Inputs) (*Part, error) {
	want := networks.Vector(mc, in.Features)
	if mc.Failed() {
		return nil, mc.Err()
	}
	n := want.Shape()[1]
	if h.dimension != 0 && h.dimension != n {
		return nil, fmt.Errorf("a reconstruction of %d numbers: the features have %d: leave label_dimension out", h.dimension, n)
	}
	h.dimension = n
	if err := h.checkLogits(in.Logits); err != nil {
		return nil, err
	}
	z, made := in.Logits, in.Logits
	if h.inverseLink != nil {
		made = h.inverseLink(mc, z)
	}
	p := h.predicted(mc, z, made, want)
	if mc.Mode() == models.Predict || mc.Failed() {
		return p, mc.Err()
	}
	weights, err := h.weights(mc, in.Features, true)
	if err != nil {
		return nil, err
	}
	each, total, err := h.loss(mc, LossInputs{want, z, in.Features}, weights, n, func(o losses.Options) *G.Node {
		return losses.MeanSquaredError(mc, want, made, o)
	})
	if err != nil {
		return nil, err
	}
	p.Loss = total
	m := h.newMetrics(weights)
	m.add("average_loss", "mean", []*G.Node{each})
	m.add("rmse", "rmse", []*G.Node{want, made})
	m.add("mae", "mae", []*G.Node{want, made})
	err = m.addMore(h.base, map[operand][]*G.Node{ofNumbers: {want, made}})
	p.Metrics = m.all
	return p, err
}

// predicted returns predictions and signatures.
func (h ReconstructionHead) predicted(mc *estimator.ModelContext, z, made, want *G.Node) *Part {
	all := estimator.Nodes{"reconstruction": made, "error": ops.Mean(mc, ops.SquaredDifference(mc, want, made), ops.KeepAxes(1))}
	if h.inverseLink != nil {
		all["logits"] = z
	}
	out := estimator.ExportOutput{Kind: estimator.ExportPredict, Outputs: all}
	return &Part{Predictions: all, ExportOutputs: map[string]estimator.ExportOutput{"serving_default": out, "predict": out}}
}
