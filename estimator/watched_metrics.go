package estimator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/spelling"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/runconfig"
)

// UnknownMetricError tells that early stopping or an exporter uses a metric that evaluations do not have.
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

// watchedMetric is a metric that decides something, and what it decides.
type watchedMetric struct{ by, name string }

// watchedMetrics are those by which hooks and exporters decide.
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
	for _, x := range eval.Exporters {
		if own, ok := x.(*exporter); ok && own.best != nil {
			out = append(out, watchedMetric{"exporter " + own.Name(), own.best.metric})
		}
	}
	return out
}

// checkWatched looks at the evaluation's graph, before anything is trained, for the metrics by which hooks and
// exporters decide. A task that leaves evaluation to another one need not have that one's data: then the other looks.
func (e *Estimator) checkWatched(ctx context.Context, train TrainSpec, eval EvalSpec) error {
	watched := e.watchedMetrics(train, eval)
	task := e.config.TaskType()
	if len(watched) == 0 || task == runconfig.PS {
		return nil
	}
	ds, err := e.openInput(ctx, eval.Input, models.Eval)
	if err != nil {
		if e.config.ClusterSpec().Len() > 1 && task != runconfig.Evaluator {
			return nil
		}
		return err
	}
	known, err := e.numericMetrics(ds.Schema())
	if err != nil {
		return err
	}
	for _, w := range watched {
		if !slices.Contains(known, w.name) {
			return &UnknownMetricError{By: w.by, Metric: w.name, Known: known}
		}
	}
	return nil
}

// numericMetrics returns the names of the metrics of evaluations that are numbers, sorted.
func (e *Estimator) numericMetrics(schema *inputs.Schema) ([]string, error) {
	r, err := e.render(models.Eval, inputSpec{columns: fedColumns(models.Eval, schema)}, firstBatch)
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
