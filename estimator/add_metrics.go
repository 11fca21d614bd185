package estimator

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/models"
)

// A MetricFn makes metrics from a model_fn's inputs and predictions.
type MetricFn func(mc *ModelContext, features models.Features, labels models.Labels, predictions Nodes) (Metrics, error)

// AddMetrics returns a copy of e with the same model_dir, whose evaluations also have the
// metrics of fn. They replace the model's metrics of the same names.
func AddMetrics(e *Estimator, fn MetricFn) *Estimator {
	inner := e.modelFn
	wrapped := ModelFunc(func(mc *ModelContext, features models.Features, labels models.Labels) (*Spec, error) {
		if fn == nil {
			return nil, errors.New("add metrics: metric_fn must be provided")
		}
		spec, err := inner.Model(mc, features, labels)
		if err != nil || spec == nil || mc.Mode() != models.Eval {
			return spec, err
		}
		more, err := fn(mc, features, labels, spec.Predictions)
		if err != nil {
			return nil, fmt.Errorf("metric_fn: %w", err)
		}
		all := Metrics{}
		for name, m := range spec.EvalMetrics {
			all[name] = m
		}
		for name, m := range more {
			all[name] = m
		}
		extended := *spec
		extended.EvalMetrics = all
		return &extended, nil
	})
	if p, ok := inner.(Preparer); ok {
		return e.with(prepared{wrapped, p})
	}
	return e.with(wrapped)
}
