package distribute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	strategies "github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/sidecar"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/tensor"
)

// Sidecar says how an evaluator task evaluates the checkpoints of a training in other processes.
type Sidecar struct {
	// Evaluate is called after each new checkpoint is restored. It may be Evaluation.Run.
	Evaluate func(ctx context.Context) (EvalResult, error)
	// Name says where events are written: to model_dir/eval_<Name>, or to model_dir/eval if it is "".
	Name string
	// LastStep ends the program with the evaluation of that step or a later one; 0: when the chief has closed its Strategy.
	LastStep int64
	// MaxEvaluations limits the number of evaluations; 0: no limit.
	MaxEvaluations int
	// StartDelay delays the first evaluation. Throttle is the least time between the starts of two evaluations.
	StartDelay, Throttle time.Duration
}

// EvaluateCheckpoints is the program of an evaluator task (TF_CONFIG's task type, or a process without a cluster). Until
// training is over it restores each new checkpoint in model_dir, evaluates it, and writes the metrics as TensorBoard
// events. It returns the last result, zero if it had nothing to evaluate. It skips checkpoints that are replaced while
// another one is evaluated. If a checkpoint was deleted or cannot be read, it waits for the next one. If the chief has
// reported a failure (estimator.ReportFailure), the error wraps ErrEnded.
func (s *Strategy) EvaluateCheckpoints(ctx context.Context, spec Sidecar) (EvalResult, error) {
	res, err := s.evaluateCheckpoints(ctx, spec)
	if err != nil {
		return res, fmt.Errorf("evaluate checkpoints: %w", err)
	}
	return res, nil
}

func (s *Strategy) evaluateCheckpoints(ctx context.Context, spec Sidecar) (EvalResult, error) {
	dir := s.config.ModelDir()
	switch {
	case s.job != nil:
		return EvalResult{}, fmt.Errorf("task %s/%d trains with others: let an evaluator task, or a process without a cluster, do it", s.config.TaskType(), s.config.TaskID())
	case dir == "":
		return EvalResult{}, errors.New("no model_dir: set runconfig.ModelDir")
	case spec.Evaluate == nil:
		return EvalResult{}, errors.New("expected a function that evaluates: see Evaluation.Run")
	case strings.ContainsAny(spec.Name, `/\`):
		return EvalResult{}, fmt.Errorf("the name of an evaluation must be no path: %q", spec.Name)
	case spec.LastStep < 0 || spec.MaxEvaluations < 0 || spec.StartDelay < 0 || spec.Throttle < 0:
		return EvalResult{}, errors.New("a limit or a time is negative: expected 0 for none")
	}
	ctx, stop := sidecar.UntilFailure(ctx, dir, time.Now())
	defer stop()
	x := &sidecarEvaluator{strategy: s, spec: spec, events: summary.NewFileWriter(sidecar.Dir(dir, spec.Name), summary.Options{})}
	w := sidecar.Watch{Dir: dir, LastStep: spec.LastStep, Most: spec.MaxEvaluations, StartDelay: spec.StartDelay, Throttle: spec.Throttle,
		Evaluated: sidecar.LastEvaluated(sidecar.Dir(dir, spec.Name)), Log: s.log}
	_, err := w.Run(ctx, x)
	if end := new(strategies.EndError); err != nil && errors.As(context.Cause(ctx), &end) {
		err = end
	}
	return x.last, errors.Join(err, x.events.Close())
}

// sidecarEvaluator evaluates by a program's own function.
type sidecarEvaluator struct {
	strategy *Strategy
	spec     Sidecar
	events   *summary.FileWriter
	last     EvalResult
}

var _ sidecar.Evaluator = (*sidecarEvaluator)(nil)

// Evaluate restores the newest checkpoint and evaluates it.
func (x *sidecarEvaluator) Evaluate(ctx context.Context, _ bool) (int64, error) {
	prefix, err := x.strategy.restoreValues(ctx)
	if err != nil {
		return 0, err
	}
	res, err := x.spec.Evaluate(ctx)
	if err != nil {
		return 0, err
	}
	res.GlobalStep = x.strategy.step
	values := map[string]*tensor.Tensor{}
	for name, v := range res.Metrics {
		values[name] = v.Tensor()
	}
	x.last = res
	x.strategy.log.Info("evaluated a checkpoint", "prefix", prefix, "global_step", res.GlobalStep, "rows", res.Rows)
	return res.GlobalStep, sidecar.Record(x.events, res.GlobalStep, values, prefix)
}

// Again does nothing: the evaluation is in the events.
func (x *sidecarEvaluator) Again(context.Context, string, bool) error { return nil }

// restoreValues is Restore without the positions of Inputs, which start at the beginning. Without a checkpoint the error
// wraps checkpoint.ErrNone.
func (s *Strategy) restoreValues(ctx context.Context) (prefix string, err error) {
	err = s.synchronize(ctx, func() (strategies.Notes, error) {
		r, _, err := s.restore()
		if err != nil {
			return strategies.Notes{}, err
		}
		if r == nil {
			return strategies.Notes{}, checkpoint.ErrNone
		}
		prefix = r.Prefix()
		return strategies.Notes{}, r.Close()
	})
	return prefix, err
}
