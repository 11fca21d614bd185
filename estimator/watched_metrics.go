package estimator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute/trace"
	"github.com/goestimator/goestimator/internal/platform/spelling"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// UnknownMetricError reports that early stopping or an exporter uses a metric that evaluations do
// not have.
type UnknownMetricError struct {
	By     string // what uses it
	Metric string
	Known  []string // the metrics that are numbers, sorted
}

// Error names the metrics that exist.
func (e *UnknownMetricError) Error() string {
	meant := ""
	if near := spelling.Nearest(e.Metric, e.Known); near != "" {
		meant = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Sprintf("%s: evaluations have no metric %q%s: expected one of %s", e.By, e.Metric, meant, strings.Join(e.Known, ", "))
}

// unknownMetric returns the error of an evaluation without a metric that by needs.
func unknownMetric(by, metric string, res EvalResult) error {
	var known []string
	for name, v := range res.Metrics {
		if _, number := v.Scalar(); number {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	return &UnknownMetricError{By: by, Metric: metric, Known: known}
}

// watchedMetric is a metric that decides something, and what it decides.
type watchedMetric struct{ by, name string }

// watchedMetrics returns the metrics by which hooks and exporters decide.
func (e *Estimator) watchedMetrics(train TrainSpec, eval EvalSpec) []watchedMetric {
	var out []watchedMetric
	for _, h := range train.Hooks {
		w, ok := h.(hooks.Watcher)
		if !ok {
			continue
		}
		if watch, ok := w.Watches(); ok && watch.EvalDir == e.EvalDir(eval.Name) {
			out = append(out, watchedMetric{"early stopping", watch.Metric})
		}
	}
	if b := train.RestoreBest; b != nil {
		out = append(out, watchedMetric{"restore best", b.Metric})
	}
	for _, x := range eval.Exporters {
		if own, ok := x.(*exporter); ok && own.best != nil {
			out = append(out, watchedMetric{"exporter " + own.Name(), own.best.metric})
		}
	}
	return out
}

// checkWatched checks, before training, that the evaluation's graph has the metrics by which hooks and
// exporters decide. A chief that does not evaluate may lack the evaluator's data, and so may not be able to
// build that graph; then the evaluator checks. Other workers that do not evaluate do not check.
func (e *Estimator) checkWatched(ctx context.Context, train TrainSpec, eval EvalSpec) error {
	watched := e.watchedMetrics(train, eval)
	if len(watched) == 0 || e.config.TaskType() == runconfig.PS || !e.isChief() && !e.evaluates() {
		return nil
	}
	known, err := e.metricsOf(ctx, eval.Input)
	if err != nil && e.evaluates() {
		return err
	}
	if err != nil {
		return nil
	}
	for _, w := range watched {
		if !slices.Contains(known, w.name) {
			return &UnknownMetricError{By: w.by, Metric: w.name, Known: known}
		}
	}
	return nil
}

// evaluates reports whether this task evaluates. An evaluator has no cluster.
func (e *Estimator) evaluates() bool {
	return e.config.ClusterSpec().Len() <= 1 || e.config.TaskType() == runconfig.Master || e.evaluatesOnWorkers()
}

// metricsOf returns the numericMetrics of evaluations on an input.
func (e *Estimator) metricsOf(ctx context.Context, input InputFn) ([]string, error) {
	ds, err := e.openInput(ctx, input, models.Eval)
	if err != nil {
		return nil, err
	}
	return e.numericMetrics(ds.Schema())
}

// numericMetrics returns the names of the metrics of evaluations that are numbers, sorted.
func (e *Estimator) numericMetrics(schema *inputs.Schema) ([]string, error) {
	r, err := e.render(models.Eval, inputSpec{columns: fedColumns(models.Eval, schema)}, trace.FirstBatch)
	if err != nil {
		return nil, err
	}
	names := []string{"loss"}
	for _, m := range r.program.metrics {
		acc, err := m.metric.New()
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", m.name, err)
		}
		if _, ok := acc.Result().Scalar(); ok {
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
