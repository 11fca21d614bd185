package estimator

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/sidecar"
	"github.com/goestimator/goestimator/internal/platform/waiting"
	"github.com/goestimator/goestimator/runconfig"
)

// ErrPeerLost is wrapped by errors that end a task because another task of its cluster
// was lost. The task continues when it is started again.
var ErrPeerLost = distribute.ErrPeerLost

// ErrEnded is wrapped by the error of a task whose job had ended before it could take
// part. ExitCode returns the chief's exit code for it.
var ErrEnded = distribute.ErrEnded

// runRole runs the task's role. As in tf.estimator's train_and_evaluate, only the
// legacy master evaluates while it trains; for a chief, an evaluator task does.
func (e *Estimator) runRole(ctx context.Context, train TrainSpec, eval EvalSpec) (Result, error) {
	switch e.config.TaskType() {
	case runconfig.Evaluator:
		return e.runEvaluator(ctx, train.MaxSteps, eval)
	case runconfig.PS:
		return Result{TrainResult: TrainResult{GlobalStep: -1, Loss: math.NaN()}}, e.RunParameterServer(ctx)
	}
	if e.config.ClusterSpec().Len() <= 1 || e.config.TaskType() == runconfig.Master && !e.evaluatesOnWorkers() {
		return e.trainAndEvaluateLocal(ctx, train, eval)
	}
	if !e.isChief() {
		if err := e.delayStart(ctx, train.MaxSteps); err != nil {
			return Result{}, err
		}
	}
	opts := []TrainOption{WithHooks(train.Hooks...)}
	if e.isChief() {
		opts = append(opts, WithSavingListeners(train.Listeners...))
	}
	together := newDistributedEvaluator(e, eval)
	if e.evaluatesOnWorkers() {
		opts = append(opts, WithHooks(together))
	}
	if train.MaxSteps > 0 {
		opts = append(opts, MaxSteps(train.MaxSteps))
	}
	tr, err := e.Train(ctx, train.Input, opts...)
	res := Result{TrainResult: tr, Eval: together.last}
	switch {
	case err != nil || !e.isChief():
	case e.evaluatesOnWorkers():
		res.Exports, err = e.exportLast(ctx, eval, together.last, tr.GlobalStep)
	default:
		err = e.awaitEvaluator(ctx, eval, tr.GlobalStep)
	}
	return res, err
}

// exportLast exports the newest checkpoint at the end of a training, with the
// evaluation last or, if that is nil, the one in the events.
func (e *Estimator) exportLast(ctx context.Context, spec EvalSpec, last *EvalResult, step int64) ([]string, error) {
	prefix, err := e.LatestCheckpoint()
	if last == nil {
		last = e.recordedEvaluation(spec.Name, step, prefix)
	}
	if err != nil || last == nil {
		return nil, err
	}
	res := *last
	if res.Checkpoint == "" { // it evaluated variables in memory
		res.Checkpoint = prefix
	}
	return spec.export(ctx, e, spec.evaluation(res, true))
}

// awaitEvaluator waits, if the RunConfig asks for it, until the evaluator has evaluated
// and exported the last step, and so is not killed while it does.
func (e *Estimator) awaitEvaluator(ctx context.Context, eval EvalSpec, step int64) error {
	limit := time.Duration(e.config.EvaluatorWaitSecs() * float64(time.Second))
	done := func() bool {
		return sidecar.LastEvaluated(e.EvalDir(eval.Name)) >= step && !slices.ContainsFunc(eval.Exporters, func(x Exporter) bool {
			own, ok := x.(*exporter)
			return ok && !own.done(e.exportDir(x.Name()), step)
		})
	}
	wait := waiting.Begin(time.Now())
	for until := time.Now().Add(limit); time.Now().Before(until) && !done(); {
		wait.Report(e.log, func() []waiting.Target {
			return []waiting.Target{{Name: "the evaluator", Reason: fmt.Sprintf("it has not evaluated and exported step %d yet", step)}}
		})
		if err := distribute.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// delayStart lets the chief and earlier workers begin first, as tf.estimator does. Tasks
// in lock step wait for each other anyway, and after the end of training there is
// nothing to wait for.
func (e *Estimator) delayStart(ctx context.Context, maxSteps int64) error {
	if e.strategy.Lockstep() || maxSteps > 0 && e.savedStep() >= maxSteps {
		return nil
	}
	delay := min(time.Duration(e.config.ExperimentalMaxWorkerDelaySecs())*time.Second, time.Duration(e.config.TaskID()+1)*5*time.Second)
	if delay > 0 {
		e.log.Info("waiting before training starts", "delay", delay)
	}
	return distribute.Sleep(ctx, delay)
}
