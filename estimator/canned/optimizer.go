package canned

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/optimizers"
)

// The learning rates of tf.estimator for an optimizer that is given only by its
// name.
const (
	linearRate         = 0.2
	baselineRate       = 0.3
	combinedDNNRate    = 0.001
	combinedLinearRate = 0.005 // at most; see rateOfColumns
	ownRate            = 0     // the optimizer's own default
)

// kerasRules are the optimizers that tf.estimator knows by name.
var kerasRules = map[string]string{
	"Adagrad": "keras_adagrad", "Adam": "keras_adam", "Ftrl": "keras_ftrl", "RMSProp": "keras_rmsprop", "SGD": "keras_sgd",
}

// NewOptimizer returns the optimizer that a config file sets for a canned model. name is one of
// tf.estimator's (Adagrad, Adam, Ftrl, RMSProp, SGD), with tf.estimator's names for its state in checkpoints, or one of
// optimizers.Names. params are the parameters of optimizers.New; the learning rate is optional and defaults to the rule's.
func NewOptimizer(name string, params map[string]any) (*optimizers.Optimizer, error) {
	return made(name, params)
}

// choice is the optimizer of a model, or of a part of one.
type choice struct {
	*optimizers.Optimizer
	given bool // set in the model's options; if not, it is a default that estimator.WithOptimizer replaces
}

// in returns the optimizer for a context. If it is given, the Estimator's is not used, so that having
// both is an error.
func (c choice) in(mc *estimator.ModelContext) *optimizers.Optimizer {
	if c.given {
		return c.Optimizer
	}
	return mc.OptimizerOr(c.Optimizer)
}

// refuseOptimizer fails if the Estimator has an optimizer but the model does not use one.
func refuseOptimizer(mc *estimator.ModelContext, model string) {
	if mc.OptimizerOr(nil) != nil {
		mc.Failf("%s are trained by a step of their own, not by an optimizer: leave WithOptimizer out", model)
	}
}

// named returns an optimizer with a name of tf.estimator's or of optimizers.Names.
func named(name string, rate float64) (*optimizers.Optimizer, error) {
	params := map[string]any{}
	if rate != ownRate {
		params["learning_rate"] = rate
	}
	return made(name, params)
}

// made returns an optimizer with parameters. Unless slot_names says otherwise, Keras
// rules name their state as Keras does.
func made(name string, params map[string]any) (*optimizers.Optimizer, error) {
	rule, ok := kerasRules[name]
	if !ok {
		rule = name
		if !slices.Contains(optimizers.Names(), name) {
			return nil, fmt.Errorf("unknown optimizer %q: expected one of %s, or of %s", name,
				strings.Join(slices.Sorted(maps.Keys(kerasRules)), ", "), strings.Join(optimizers.Names(), ", "))
		}
	}
	if _, ok := params["slot_names"]; !ok && strings.HasPrefix(rule, "keras_") {
		with := map[string]any{"slot_names": string(optimizers.KerasNames)}
		maps.Copy(with, params)
		params = with
	}
	return optimizers.New(rule, params)
}
