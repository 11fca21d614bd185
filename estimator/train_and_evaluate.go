package estimator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/models"
)

// TrainSpec says how TrainAndEvaluate trains.
type TrainSpec struct {
	Input     InputFn
	MaxSteps  int64 // 0: until the input ends or a hook stops training
	Hooks     []hooks.Hook
	Listeners []hooks.CheckpointListener
	// RestoreBest lets training end with the weights of its best evaluation: the last checkpoint, the last evaluation and the
	// final exports have them. nil: with the weights of the last step. It needs training in one process.
	RestoreBest *RestoreBest
}

// EvalSpec says how and when TrainAndEvaluate evaluates. Checkpoints are evaluated as
// they are written, but not sooner than Throttle after the previous evaluation. The last
// checkpoint is always evaluated.
type EvalSpec struct {
	Input      InputFn
	Steps      int64  // batches; 0: to the end of the data
	Name       string // of the evaluation's events
	Hooks      []hooks.Hook
	StartDelay time.Duration // of an evaluator task; local runs ignore it
	Throttle   time.Duration // least time between two evaluations; 0: none
	EverySteps int64         // also evaluate every n steps, without a checkpoint; 0: off
	// AfterEval is called with each evaluation; final says that training is over. nil: log a line for each.
	AfterEval func(ctx context.Context, res EvalResult, final bool) error
	// Exporters export to model_dir/export/<name> after evaluations, in the process that evaluates.
	Exporters []Exporter
}

// options are the options of each evaluation.
func (s EvalSpec) options() []EvalOption {
	opts := []EvalOption{EvalName(s.Name), WithHooks(s.Hooks...)}
	if s.Steps > 0 {
		opts = append(opts, Steps(s.Steps))
	}
	return opts
}

// Result is the outcome of TrainAndEvaluate.
type Result struct {
	TrainResult
	Eval    *EvalResult // the last evaluation; nil without one
	Exports []string    // folders of exports; an earlier run of the same evaluation may have written them
}

func (s TrainSpec) validate() error {
	if s.Input == nil {
		return errors.New("train spec: input_fn must be given")
	}
	if s.MaxSteps < 0 {
		return fmt.Errorf("train spec: must specify max_steps > 0, given: %d", s.MaxSteps)
	}
	return nil
}

func (s EvalSpec) validate() error {
	switch {
	case s.Input == nil:
		return errors.New("eval spec: input_fn must be given")
	case s.Steps < 0:
		return fmt.Errorf("eval spec: must specify steps > 0, given: %d", s.Steps)
	case s.StartDelay < 0:
		return fmt.Errorf("eval spec: must specify start_delay_secs >= 0, given: %v", s.StartDelay)
	case s.Throttle < 0:
		return fmt.Errorf("eval spec: must specify throttle_secs >= 0, given: %v", s.Throttle)
	case s.EverySteps < 0:
		return fmt.Errorf("eval spec: must specify every_steps >= 0, given: %d", s.EverySteps)
	}
	names := map[string]bool{}
	for _, x := range s.Exporters {
		if x == nil || x.Name() == "" || names[x.Name()] {
			return errors.New("eval spec: exporters must have names, each its own")
		}
		names[x.Name()] = true
	}
	return nil
}

// TrainAndEvaluate trains and evaluates in the role that TF_CONFIG gives this process. Without a
// cluster, or as its only task, it trains once and evaluates checkpoints as they are written, the
// last one at the end.
//
// If max_steps has already been reached, the newest checkpoint is evaluated unless its evaluation
// is in the events. If early stopping or an exporter uses a metric that evaluations do not have,
// the error is an [UnknownMetricError], before training.
func TrainAndEvaluate(ctx context.Context, e *Estimator, train TrainSpec, eval EvalSpec) (Result, error) {
	res, err := e.trainAndEvaluate(ctx, train, eval)
	return res, reportFailure(ctx, e.config, e.log, nil, err)
}

func (e *Estimator) trainAndEvaluate(ctx context.Context, train TrainSpec, eval EvalSpec) (Result, error) {
	if err := errors.Join(train.validate(), eval.validate(), e.checkRestorable(train)); err != nil {
		return Result{}, err
	}
	if err := e.checkWatched(ctx, train, eval); err != nil {
		return Result{}, err
	}
	if eval.AfterEval == nil {
		eval.AfterEval = plainEvals(e.log)
	}
	return e.runRole(ctx, train, eval)
}

func (e *Estimator) trainAndEvaluateLocal(ctx context.Context, train TrainSpec, eval EvalSpec) (Result, error) {
	l := &evalListener{ctx: ctx, est: e, spec: eval, loop: &loopWatcher{}, restore: train.RestoreBest,
		timer: hooks.NewTimer(hooks.Every{Secs: eval.Throttle.Seconds()}), evaluated: -1}
	opts := []TrainOption{WithHooks(train.Hooks...), WithHooks(l.loop), WithSavingListeners(train.Listeners...), WithSavingListeners(l)}
	if eval.EverySteps > 0 {
		h, err := NewInMemoryEvaluator(e, eval.Input, eval.EverySteps, eval.options()...)
		if err != nil {
			return Result{}, err
		}
		h.during, h.caller, h.after = true, ctx, eval.AfterEval
		opts = append(opts, WithHooks(h))
	}
	if train.MaxSteps > 0 {
		opts = append(opts, MaxSteps(train.MaxSteps))
	}
	tr, err := e.Train(ctx, train.Input, opts...)
	res := Result{TrainResult: tr, Eval: l.last, Exports: l.exports}
	if err != nil {
		return res, err
	}
	if l.evaluated != tr.GlobalStep {
		// Training was skipped, or no saver with listeners saved its end.
		err = l.makeUp(ctx, tr.GlobalStep)
		res.Eval, res.Exports = l.last, l.exports
	}
	return res, err
}

// makeUp evaluates the newest checkpoint, or reads its evaluation from the events.
func (l *evalListener) makeUp(ctx context.Context, step int64) error {
	prefix, err := l.est.LatestCheckpoint()
	if err != nil || prefix == "" {
		return errors.Join(err, fmt.Errorf("there was no new checkpoint after the training in %s", l.est.modelDir))
	}
	if l.restore != nil && ctx.Err() != nil {
		return fmt.Errorf("%w at step %d, before its evaluation: %w", ErrInterrupted, step, context.Cause(ctx))
	}
	if res := l.est.recordedEvaluation(l.spec.Name, step, prefix); res != nil && l.current(*res) {
		if err := l.est.checkModel(ctx, l.spec.Input); err != nil {
			return err
		}
		return l.report(ctx, *res, true)
	}
	// "", not the prefix: if the newest checkpoint is damaged, evaluate the one before it.
	err = l.evaluate(ctx, "", true)
	if ctx.Err() != nil && (err == nil || follows(err)) {
		return fmt.Errorf("%w at step %d, before its evaluation: %w", ErrInterrupted, step, context.Cause(ctx))
	}
	return err
}

// checkModel returns an error if the newest checkpoint is of another model: its recorded
// evaluation must not be used for this model.
func (e *Estimator) checkModel(ctx context.Context, input InputFn) error {
	s, _, err := e.openInference(ctx, models.Eval, input)
	if err != nil {
		return err
	}
	return s.load("")
}

// recordedEvaluation returns the scalars that the events have for an evaluation of that
// step, nil for none.
func (e *Estimator) recordedEvaluation(name string, step int64, prefix string) *EvalResult {
	all, err := summary.ReadScalars(e.EvalDir(name))
	if err != nil || all[step] == nil {
		return nil
	}
	res := &EvalResult{GlobalStep: step, Checkpoint: prefix, Metrics: map[string]metrics.Value{}}
	for tag, x := range all[step] {
		res.Metrics[tag] = metrics.Value{Data: []float64{x}}
	}
	return res
}

// evalListener evaluates checkpoints as they are written.
type evalListener struct {
	ctx       context.Context // of TrainAndEvaluate; unlike the loop's, its end interrupts an evaluation
	est       *Estimator
	spec      EvalSpec
	restore   *RestoreBest // nil: training ends with its last weights
	timer     *hooks.Timer
	loop      *loopWatcher
	evaluated int64
	final     bool // the last evaluation was passed on as final
	skipped   bool // the checkpoint that training began with is not evaluated
	prefix    string
	last      *EvalResult
	exports   []string
}

var _ hooks.CheckpointListener = (*evalListener)(nil)

// loopWatcher is a hook that records the loop.
type loopWatcher struct {
	hooks.Base
	run hooks.Run
}

// AfterCreateSession records the loop.
func (w *loopWatcher) AfterCreateSession(_ context.Context, r hooks.Run) error { w.run = r; return nil }

// Begin does nothing.
func (l *evalListener) Begin() error { return nil }

// BeforeSave does nothing.
func (l *evalListener) BeforeSave(context.Context, int64) error { return nil }

// AfterSave evaluates unless it is too soon.
func (l *evalListener) AfterSave(_ context.Context, prefix string, step int64) (bool, error) {
	l.prefix = prefix
	if !l.skipped {
		l.skipped = true
		return false, nil
	}
	ending := l.loop.run.StopRequested()
	if l.spec.Throttle > 0 && !l.timer.ShouldTrigger(step) || ending && l.restore != nil { // End evaluates instead
		return false, nil
	}
	l.timer.Trigger(step)
	began := time.Now()
	err := l.uncut(l.evaluate(l.ctx, prefix, ending))
	if v, ok := l.loop.run.(trainingView); ok {
		v.evaluatedWhileSaving(time.Since(began))
	}
	return false, err
}

// End evaluates the last checkpoint, unless that was done already.
func (l *evalListener) End(_ context.Context, step int64) error {
	switch {
	case l.restore != nil:
		return l.uncut(l.endWithBest(step))
	case l.evaluated == step && l.final:
		return nil
	case l.evaluated == step: // training continued after that step, and the input ended at once
		return l.uncut(l.handle(l.ctx, *l.last, true))
	}
	return l.uncut(l.evaluate(l.ctx, l.prefix, true))
}

// endWithBest evaluates the last step, and then the best weights if they differ from it.
func (l *evalListener) endWithBest(step int64) error {
	view, ok := l.loop.run.(trainingView)
	if !ok {
		return errors.New("restore best: expected a training loop")
	}
	known := l.evaluated == step // the input ended after an evaluation
	if !known {
		res, err := l.est.Evaluate(l.ctx, l.spec.Input, append(l.spec.options(), CheckpointPath(l.prefix))...)
		if err != nil {
			return err
		}
		if err := observed(l.ctx, view, l.spec.Name, res); err != nil {
			return err
		}
		l.evaluated, l.last = step, &res
	}
	prefix, err := view.saves.best.restore(context.WithoutCancel(l.ctx))
	if err != nil {
		return err
	}
	if prefix == "" {
		return l.handle(l.ctx, *l.last, true)
	}
	if !known && l.spec.AfterEval != nil {
		if err := l.spec.AfterEval(l.ctx, *l.last, false); err != nil {
			return err
		}
	}
	l.prefix = prefix
	return l.evaluate(l.ctx, prefix, true)
}

// uncut returns the error of an evaluation in the loop. An interrupted evaluation is no error: the loop ends by itself, and
// another run repeats the evaluation.
func (l *evalListener) uncut(err error) error {
	if l.ctx.Err() != nil && err != nil && follows(err) {
		return nil
	}
	return err
}

func (l *evalListener) evaluate(ctx context.Context, prefix string, final bool) error {
	res, err := l.est.Evaluate(ctx, l.spec.Input, append(l.spec.options(), CheckpointPath(prefix))...)
	if err != nil {
		return err
	}
	return l.report(ctx, res, final)
}

// report passes an evaluation to the training, AfterEval and the exporters.
func (l *evalListener) report(ctx context.Context, res EvalResult, final bool) error {
	l.evaluated, l.last = res.GlobalStep, &res
	if err := observed(ctx, l.loop.run, l.spec.Name, res); err != nil {
		return err
	}
	return l.handle(ctx, res, final)
}

// handle passes an evaluation to AfterEval and the exporters.
func (l *evalListener) handle(ctx context.Context, res EvalResult, final bool) error {
	l.final = final
	ev := l.spec.evaluation(res, final)
	if final && l.restore != nil {
		var err error
		if ev.Restored, err = l.noteEvaluated(res.GlobalStep); err != nil {
			return err
		}
	}
	dirs, err := l.spec.after(ctx, l.est, ev)
	for _, dir := range dirs {
		if !slices.Contains(l.exports, dir) {
			l.exports = append(l.exports, dir)
		}
	}
	return err
}

// evaluation returns what exporters see of an evaluation.
func (s EvalSpec) evaluation(res EvalResult, final bool) Evaluation {
	return Evaluation{EvalResult: res, Name: s.Name, Final: final}
}

// after runs AfterEval and the exporters and returns the exports.
func (s EvalSpec) after(ctx context.Context, e *Estimator, ev Evaluation) ([]string, error) {
	if s.AfterEval != nil {
		if err := s.AfterEval(ctx, ev.EvalResult, ev.Final); err != nil {
			return nil, err
		}
	}
	return s.export(ctx, e, ev)
}

// export runs the exporters, and returns the exports of the evaluation.
func (s EvalSpec) export(ctx context.Context, e *Estimator, ev Evaluation) (dirs []string, err error) {
	if err := fpExport.Here(); err != nil {
		return nil, err
	}
	for _, x := range s.Exporters {
		dir, err := x.Export(ctx, e, e.exportDir(x.Name()), ev)
		if err != nil {
			return dirs, err
		}
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// exportDir is the folder of an exporter's exports.
func (e *Estimator) exportDir(name string) string { return filepath.Join(e.modelDir, "export", name) }
