package estimator

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute/sidecar"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// EvalResult holds the metrics of an evaluation by name, among them "loss", the
// mean of the batches' losses, and the step of the model that was evaluated.
type EvalResult struct {
	GlobalStep int64
	Checkpoint string // prefix of the evaluated checkpoint, "" for initial values
	Metrics    map[string]metrics.Value
}

// Scalar returns a scalar metric by name.
func (r EvalResult) Scalar(name string) (float64, bool) {
	v, ok := r.Metrics[name]
	if !ok {
		return 0, false
	}
	return v.Scalar()
}

// attrs returns the step and the scalar metrics, sorted by name, for a log line.
func (r EvalResult) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.Int64("step", r.GlobalStep)}
	for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
		if v, ok := r.Scalar(name); ok {
			attrs = append(attrs, slog.Float64(name, v))
		}
	}
	return attrs
}

// Evaluate computes the loss and metrics of the newest checkpoint over the whole input,
// or over Steps batches, and writes them to the events in EvalDir. If events cannot be written, as in a
// read-only model_dir, it warns and returns the result. Without a checkpoint it evaluates freshly initialised variables. The
// strategy's replicas in this process share the work, a batch each per step; the
// metrics equal those of a single replica.
func (e *Estimator) Evaluate(ctx context.Context, input InputFn, opts ...EvalOption) (EvalResult, error) {
	o, err := newRunOptions(opts, EvalOption.forEval)
	if err != nil {
		return EvalResult{}, err
	}
	s, ds, err := e.openInference(ctx, models.Eval, input)
	if err != nil {
		return EvalResult{}, err
	}
	res, err := s.evaluate(ctx, ds, o)
	if err != nil {
		return res, fmt.Errorf("evaluate: %w", err)
	}
	return res, e.writeEvalEvents(o.name, res)
}

// evaluate runs the loop of one evaluation.
func (s *inference) evaluate(ctx context.Context, ds inputs.Dataset, o runOptions) (EvalResult, error) {
	release, err := s.acquire()
	if err != nil {
		return EvalResult{}, err
	}
	defer release()
	acc, err := s.accumulators()
	if err != nil {
		return EvalResult{}, err
	}
	hs := append(o.hooks[:len(o.hooks):len(o.hooks)], s.session.program.spec.EvaluationHooks...)
	if err := s.prepare(ctx, hs, o); err != nil {
		return EvalResult{}, err
	}
	if err := fpEvaluate.Here(); err != nil {
		return EvalResult{}, err
	}
	batches := int64(0)
	err = s.each(ctx, ds, o.steps, func(replica, _ int) error {
		batches++
		return acc.update(func(name string) *tensor.Tensor { return s.session.value(name, replica) })
	})
	if err != nil {
		return EvalResult{}, err
	}
	if o.merge != nil {
		if batches, err = o.merge(ctx, acc, batches); err != nil {
			return EvalResult{}, err
		}
	}
	if batches == 0 {
		return EvalResult{}, fmt.Errorf("no batch to evaluate on: %w", inputs.ErrEmpty)
	}
	if err := s.loop.end(ctx); err != nil {
		return EvalResult{}, err
	}
	return EvalResult{GlobalStep: s.progress.step, Checkpoint: s.loaded, Metrics: acc.results()}, nil
}

// accumulators are the metrics of one evaluation, and the names of their operands.
type accumulators struct {
	loss  *metrics.Mean
	bound []boundMetric
}

type boundMetric struct {
	name  string
	acc   metrics.Accumulator
	empty func() (metrics.Accumulator, error) // makes another
	args  []string                            // the names by which operands are fetched
}

// accumulators makes empty accumulators and asks for their operands.
func (s *inference) accumulators() (*accumulators, error) {
	s.session.fetch("loss", s.session.program.loss)
	a := &accumulators{loss: metrics.NewMean()}
	for _, m := range s.session.program.metrics {
		acc, err := m.metric.New()
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", m.name, err)
		}
		b := boundMetric{name: m.name, acc: acc, empty: m.metric.New}
		for _, o := range m.args {
			b.args = append(b.args, o.String())
			s.session.fetch(o.String(), o)
		}
		a.bound = append(a.bound, b)
	}
	return a, nil
}

// update adds a batch; value returns a tensor of it by name.
func (a *accumulators) update(value func(name string) *tensor.Tensor) error {
	if err := a.loss.Update(value("loss")); err != nil {
		return fmt.Errorf("loss: %w", err)
	}
	for _, b := range a.bound {
		args := make([]*tensor.Tensor, len(b.args))
		for i, name := range b.args {
			args[i] = value(name)
		}
		if err := b.acc.Update(args...); err != nil {
			return fmt.Errorf("metric %s: %w", b.name, err)
		}
	}
	return nil
}

func (a *accumulators) results() map[string]metrics.Value {
	out := map[string]metrics.Value{"loss": a.loss.Result()}
	for _, b := range a.bound {
		out[b.name] = b.acc.Result()
	}
	return out
}

// writeEvalEvents appends an evaluation to the events of its name.
func (e *Estimator) writeEvalEvents(name string, res EvalResult) error {
	values := map[string]*tensor.Tensor{}
	for key, v := range res.Metrics {
		values[key] = v.Tensor()
	}
	return sidecar.Record(e.evalWriter(name), res.GlobalStep, values, res.Checkpoint)
}

// evalWriter returns the event file for evaluations of that name, which all of this Estimator's share.
func (e *Estimator) evalWriter(name string) *summary.Lossy {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := e.evalEvents[name]
	if w == nil {
		dir := e.EvalDir(name)
		w = summary.NewLossy(func() summary.Writer { return summary.NewFileWriter(dir, summary.Options{FS: e.eventsFS}) }, func(err error) {
			e.log.Warn("events of evaluations cannot be written: results are lost for TensorBoard and for a job that is started again", "error", err)
		})
		e.evalEvents[name] = w
	}
	return w
}
