package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/runconfig"
)

// Parameters that the model takes for its head; the others are the network's.
const (
	paramClasses        = "classes"
	paramLabelDimension = "label_dimension"
)

// modelFn finds the model_fn that a config names: one of the user's, or a
// network with the head that its parameters ask for.
func (a *app) modelFn(cfg *runconfig.Config) (estimator.ModelFn, error) {
	name := cfg.Model.Name
	if fn, err := a.models.Lookup(name); err == nil {
		return fn, nil
	}
	if !slices.Contains(networks.Names(), name) {
		return nil, fmt.Errorf("model.name: unknown model %q: expected one of %s", name,
			strings.Join(append(networks.Names(), a.models.Names()...), ", "))
	}
	params := map[string]any{}
	for k, v := range cfg.Model.Params {
		if k != paramClasses && k != paramLabelDimension {
			params[k] = v
		}
	}
	net, err := networks.New(name, params)
	if err != nil {
		return nil, fmt.Errorf("model.params: %w", err)
	}
	head, err := headOf(cfg.Model.Params)
	if err != nil {
		return nil, err
	}
	opt, err := optimizerOf(cfg.Optimizer)
	if err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	return heads.ModelFn(net, head, opt), nil
}

// headOf makes the head: multi-class for classes, regression for label_dimension.
func headOf(params estimator.Params) (heads.Head, error) {
	classes, ok := params.Int(paramClasses, 0)
	if !ok {
		return nil, fmt.Errorf("model.params.%s: expected a whole number, got %v", paramClasses, params[paramClasses])
	}
	dimension, ok := params.Int(paramLabelDimension, 0)
	if !ok {
		return nil, fmt.Errorf("model.params.%s: expected a whole number, got %v", paramLabelDimension, params[paramLabelDimension])
	}
	_, isClasses := params[paramClasses]
	_, isDimension := params[paramLabelDimension]
	switch {
	case isClasses && isDimension:
		return nil, fmt.Errorf("model.params has both %s and %s: give one", paramClasses, paramLabelDimension)
	case isClasses:
		return wrap(heads.NewMultiClass(classes))
	case isDimension:
		return wrap(heads.NewRegression(dimension))
	}
	return nil, fmt.Errorf("model.params: expected %s (classification) or %s (regression)", paramClasses, paramLabelDimension)
}

func wrap[H heads.Head](h H, err error) (heads.Head, error) {
	if err != nil {
		return nil, fmt.Errorf("model.params: %w", err)
	}
	return h, nil
}
