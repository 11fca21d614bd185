package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/networks"
)

// registeredOptimizer is the config's optimizer for a user's model_fn; nil for other models, which have
// their own. An empty section does not conflict with the model_fn's own optimizer.
func (a *app) registeredOptimizer(cfg *config.Config) ([]estimator.Option, error) {
	if !a.models.Has(cfg.Model.Name) {
		return nil, nil
	}
	opt, err := cfg.Optimizer.Optimizer()
	if err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	if reflect.DeepEqual(cfg.Optimizer, config.Default().Optimizer) {
		return []estimator.Option{estimator.WithDefaultOptimizer(opt)}, nil
	}
	return []estimator.Option{estimator.WithOptimizer(opt)}, nil
}

// modelFn finds the model_fn that a config names: a user's, a canned
// model, or a network with the head that its parameters select.
func (a *app) modelFn(cfg *config.Config, set *feature.Set) (estimator.ModelFn, error) {
	name := cfg.Model.Name
	if fn, err := a.models.Lookup(name); err == nil {
		return fn, nil
	}
	if slices.Contains(canned.Names(), name) {
		return cannedModel(cfg, set)
	}
	if !slices.Contains(networks.Names(), name) {
		return nil, fmt.Errorf("model.name: %w", unknownName("model", name, slices.Concat(networks.Names(), a.models.Names(), canned.Names())))
	}
	if len(cfg.FeatureColumns) > 0 {
		return nil, fmt.Errorf("feature_columns: model %s reads none: expected one of %s", name, strings.Join(canned.Names(), ", "))
	}
	params, err := modelParams(cfg)
	if err != nil {
		return nil, fmt.Errorf("model.params.%w", err)
	}
	head, params, err := heads.FromParams(params)
	if err != nil {
		return nil, fmt.Errorf("model.params: %w", err)
	}
	net, err := networks.New(name, params)
	if err != nil {
		return nil, fmt.Errorf("model.params: %w", err)
	}
	opt, err := cfg.Optimizer.Optimizer()
	if err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	return heads.ModelFn(net, head, opt), nil
}
