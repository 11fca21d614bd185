package distribute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
)

// EvaluationSpec says what an Evaluation computes.
type EvaluationSpec struct {
	// Build builds a step, in mode Eval. Its Outputs.Metrics are the operands of Metrics.
	Build Build
	// Metrics make empty accumulators by name. They belong to the evaluation, and may be of
	// any kind under every strategy, since states are merged and not summed.
	Metrics map[string]func() (metrics.Accumulator, error)
	// Data opens share ic.Pipeline of ic.NumPipelines of the data, in batches. All shares
	// together must have each row once; inputs.Shard and inputs.Open make such shares.
	Data func(ic inputs.Context) (inputs.Dataset, error)
}

// Evaluation evaluates the strategy's variables: here (Run), on all workers of a
// Coordinator (Coordinator.Evaluate), or for each checkpoint in an evaluator task
// (EvaluateCheckpoints). Every row counts once.
type Evaluation struct {
	strategy *Strategy
	function *Function
	spec     EvaluationSpec
	operands []operands
}

// EvalResult is the outcome of an evaluation.
type EvalResult struct {
	GlobalStep int64
	Rows       int64                    // the number of rows that were evaluated
	Metrics    map[string]metrics.Value // by name; "loss", if there is one, is the mean over all rows
}

// Scalar returns a scalar metric by name.
func (r EvalResult) Scalar(name string) (float64, bool) {
	v, ok := r.Metrics[name]
	if !ok {
		return 0, false
	}
	return v.Scalar()
}

// Evaluation builds an evaluation. No function may have its name. All tasks of a cluster must build the same.
func (s *Strategy) Evaluation(name string, spec EvaluationSpec) (*Evaluation, error) {
	e, err := s.evaluation(name, spec)
	if err != nil {
		return nil, fmt.Errorf("evaluation %s: %w", name, err)
	}
	s.functions = append(s.functions, e.function)
	return e, nil
}

func (s *Strategy) evaluation(name string, spec EvaluationSpec) (*Evaluation, error) {
	if spec.Data == nil {
		return nil, errors.New("expected a function that opens the data")
	}
	f, err := s.function(name, models.Eval, spec.Build)
	if err != nil {
		return nil, err
	}
	spec.Metrics = maps.Clone(spec.Metrics)
	e := &Evaluation{strategy: s, function: f, spec: spec, operands: f.traced.metricOperands()}
	if err := e.check(); err != nil {
		return nil, err
	}
	_, err = s.Remote(remoteEvaluation+name, e.runShard)
	return e, err
}

// check reports metrics without operands, operands without a metric, and metrics that cannot be made.
func (e *Evaluation) check() error {
	for _, name := range sortedKeys(e.spec.Metrics) {
		switch {
		case name == "" || name == lossName:
			return fmt.Errorf("metric %q: expected another name", name)
		case e.spec.Metrics[name] == nil || len(e.function.traced.outputs.Metrics[name]) == 0:
			return fmt.Errorf("metric %q: expected what makes an accumulator, and operands in Outputs.Metrics", name)
		}
	}
	for _, o := range e.operands {
		if e.spec.Metrics[o.metric] == nil {
			return fmt.Errorf("metric %q is not the evaluation's: it has %q", o.metric, sortedKeys(e.spec.Metrics))
		}
	}
	_, err := e.newTally()
	return err
}

// Name returns the evaluation's name.
func (e *Evaluation) Name() string { return e.function.name }

// Run evaluates on all local replicas. In lock step all tasks call it: each evaluates a share of the
// data, and gets the result over all shares. Otherwise this task evaluates all the data.
func (e *Evaluation) Run(ctx context.Context) (EvalResult, error) {
	res, err := e.run(ctx)
	if err != nil {
		return EvalResult{}, fmt.Errorf("evaluation %s: %w", e.Name(), err)
	}
	return res, nil
}

func (e *Evaluation) run(ctx context.Context) (EvalResult, error) {
	s := e.strategy
	if !s.ready {
		if err := s.synchronize(ctx, nil); err != nil {
			return EvalResult{}, err
		}
	}
	g, share, shares := s.gatherer(), 0, 1
	if g != nil {
		share, shares = s.rank(), max(s.config.NumWorkers(), 1)
	}
	t, err := e.share(ctx, share, shares)
	if err != nil {
		return EvalResult{}, err
	}
	if g != nil {
		if t, err = e.gather(ctx, g, t); err != nil {
			return EvalResult{}, err
		}
	}
	return e.result(t)
}

// share evaluates one share of the data.
func (e *Evaluation) share(ctx context.Context, share, shares int) (*tally, error) {
	s := e.strategy
	ds, err := e.spec.Data(inputs.Context{Mode: inputs.Eval, Pipeline: share, NumPipelines: shares, ReplicasInSync: 1, Seed: s.seed})
	if err != nil {
		return nil, fmt.Errorf("share %d of %d of the data: %w", share, shares, err)
	}
	if ds == nil {
		return nil, errors.New("the function returned no data set")
	}
	t, err := e.newTally()
	if err != nil {
		return nil, err
	}
	it, err := (&Input{strategy: s, ds: ds}).Iterate(ctx)
	if err != nil {
		return nil, err
	}
	return t, errors.Join(e.each(ctx, it, t), it.Close())
}

// each evaluates every batch.
func (e *Evaluation) each(ctx context.Context, it *Iterator, t *tally) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batch, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		res, err := e.function.Run(ctx, batch)
		if err != nil {
			return err
		}
		if err := t.add(res, e.operands); err != nil {
			return err
		}
	}
}

// result returns the result of a tally, at the current step.
func (e *Evaluation) result(t *tally) (EvalResult, error) {
	if t.rows == 0 {
		return EvalResult{}, fmt.Errorf("no rows to evaluate on: %w", inputs.ErrEmpty)
	}
	step, err := e.strategy.globalStep()
	if err != nil {
		return EvalResult{}, err
	}
	res := EvalResult{GlobalStep: step, Rows: t.rows, Metrics: map[string]metrics.Value{}}
	for i, o := range e.operands {
		res.Metrics[o.metric] = t.states[i].Result()
	}
	if slices.Contains(e.function.traced.names, lossName) {
		res.Metrics[lossName] = t.loss().Result()
	}
	return res, nil
}
