package cli

import (
	"fmt"
	"reflect"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
)

// cannedModel makes the canned model that a config names, of columns.
func cannedModel(cfg *config.Config, set *feature.Set) (estimator.ModelFn, error) {
	if !reflect.DeepEqual(cfg.Optimizer, config.Default().Optimizer) {
		return nil, fmt.Errorf("optimizer: model %s has its optimizers among its parameters: set model.params.optimizer (dnn_optimizer and linear_optimizer of combined models)", cfg.Model.Name)
	}
	params, err := modelParams(cfg)
	if err != nil {
		return nil, fmt.Errorf("model.params.%w", err)
	}
	fn, err := canned.Named(cfg.Model.Name, params, set)
	if err != nil {
		return nil, within("model.params: ", err)
	}
	return fn, nil
}
