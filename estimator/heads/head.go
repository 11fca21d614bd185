package heads

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
	G "gorgonia.org/gorgonia"
)

// A Head makes the Spec of a model out of its logits.
type Head interface {
	// LogitsDimension is the number of logits that it needs per example.
	LogitsDimension() int
	// Spec returns the Spec of mc's mode; in.Labels is empty when predicting.
	Spec(mc *estimator.ModelContext, in Inputs) (*estimator.Spec, error)
}

// Inputs are what a Head works on.
type Inputs struct {
	Features  models.Features
	Labels    models.Labels
	Logits    *G.Node // [batch, LogitsDimension]
	Optimizer *optimizers.Optimizer
}

// ModelFn is the model_fn of a network with a head, trained by an optimizer.
func ModelFn(n networks.Network, h Head, o *optimizers.Optimizer) estimator.ModelFn {
	return estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		logits := n(mc, features, h.LogitsDimension())
		if mc.Failed() {
			return nil, mc.Err()
		}
		return h.Spec(mc, Inputs{Features: features, Labels: labels, Logits: logits, Optimizer: o})
	})
}

// label returns the only label.
func label(mc *estimator.ModelContext, labels models.Labels) (*G.Node, error) {
	if labels.Len() == 0 {
		return nil, errors.New("you must provide labels: the input has no column with the role label")
	}
	if n := labels.Only(); n != nil {
		return n, nil
	}
	return nil, mc.Err()
}

// checkLogits reports logits of another shape than [batch, want].
func checkLogits(logits *G.Node, want int) error {
	if s := logits.Shape(); len(s) != 2 || s[1] != want {
		return fmt.Errorf("logits have shape %v: expected [batch %d]", s, want)
	}
	return nil
}

// trained adds to a Spec what its mode needs of the loss: the regularization
// losses and, when training, the optimizer.
func trained(mc *estimator.ModelContext, spec *estimator.Spec, loss *G.Node, o *optimizers.Optimizer) *estimator.Spec {
	spec.Loss = optimizers.TotalLoss(mc, loss)
	if mc.Mode() == models.Train {
		spec.TrainOp = o.Minimize(mc, spec.Loss)
	}
	return spec
}

// operands are labels and values of a metric, with the weights where there are any.
func operands(weights *G.Node, args ...*G.Node) []*G.Node {
	if weights == nil {
		return args
	}
	return append(args, weights)
}
