package heads

import (
	"errors"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/optimizers"
)

// ModelFn returns the model_fn of a network with a head. An optimizer trains it; nil:
// the Estimator's (estimator.WithOptimizer).
func ModelFn(n networks.Network, h Head, o *optimizers.Optimizer) estimator.ModelFn {
	return model{n, h, o}
}

// model is a network with a head.
type model struct {
	network   networks.Network
	head      Head
	optimizer *optimizers.Optimizer
}

// Err returns what is wrong with the model's parts.
func (m model) Err() error {
	if m.network == nil {
		return errors.New("the network is nil: see package networks")
	}
	return Check(m.head)
}

// Model builds the graph of a mode.
func (m model) Model(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	logits := m.network(mc, features, m.head.LogitsDimension())
	if mc.Failed() {
		return nil, mc.Err()
	}
	return m.head.Spec(mc, Inputs{Features: features, Labels: labels, Logits: logits, Optimizer: m.optimizer})
}

// Check returns what is wrong with a head: that it is nil, or was made with wrong
// options.
func Check(h Head) error {
	if h == nil {
		return errors.New("the head is nil")
	}
	if made, ok := h.(interface{ Err() error }); ok {
		return made.Err()
	}
	return nil
}
