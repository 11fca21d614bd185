package heads

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	G "gorgonia.org/gorgonia"
)

// labelScale says that logits are (label - mean) / std. Its zero value does nothing.
type labelScale struct{ mean, std float64 }

// WithLabelScale says that the logits of a regression stand for (label - mean) / std, so that a network learns labels of any size
// with the usual learning rates. Predictions, rmse and mae are in the unit of the labels, losses in the unit of the logits.
// std must be finite and above 0.
func WithLabelScale(mean, std float64) Option {
	return Option{"label_scale", func(o *options) { o.scale = &labelScale{mean, std} }}
}

// checkScale reports a scale that cannot be inverted.
func (o options) checkScale() error {
	if o.scale == nil {
		return nil
	}
	if math.IsNaN(o.scale.mean) || math.IsInf(o.scale.mean, 0) {
		return fmt.Errorf("%w: label_mean %v: expected a finite number", ErrOption, o.scale.mean)
	}
	if !(o.scale.std > 0) || math.IsInf(o.scale.std, 0) {
		return fmt.Errorf("%w: label_std %v: expected a finite number above 0", ErrOption, o.scale.std)
	}
	if o.inverseLink != nil {
		return fmt.Errorf("%w: both label_scale and inverse_link_fn: give one", ErrOption)
	}
	return nil
}

// scaled returns labels in the scale of the logits.
func (o options) scaled(c models.Context, labels *G.Node) *G.Node {
	if o.scale == nil || c.Core().Failed() {
		return labels
	}
	d := models.GraphType(labels.Dtype())
	return ops.Div(c, ops.Sub(c, labels, ops.Scalar(c, d, o.scale.mean)), ops.Scalar(c, d, o.scale.std))
}

// unscaled returns logits in the scale of the labels.
func (o options) unscaled(c models.Context, logits *G.Node) *G.Node {
	if o.scale == nil || c.Core().Failed() {
		return logits
	}
	d := models.GraphType(logits.Dtype())
	return ops.Add(c, ops.Mul(c, logits, ops.Scalar(c, d, o.scale.std)), ops.Scalar(c, d, o.scale.mean))
}
