package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/internal/config"
	"github.com/goestimator/goestimator/models/networks"
)

// modelFn finds the model_fn that a config names: one of the user's, a canned
// model, or a network with the head that its parameters ask for.
func (a *app) modelFn(cfg *config.Config) (estimator.ModelFn, error) {
	name := cfg.Model.Name
	if fn, err := a.models.Lookup(name); err == nil {
		return fn, nil
	}
	if slices.Contains(canned.Names(), name) {
		return cannedModel(cfg)
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
