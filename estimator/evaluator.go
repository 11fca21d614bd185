package estimator

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// evaluatorPoll is how often an evaluator looks for a new checkpoint, at most.
const evaluatorPoll = time.Second

// runEvaluator evaluates each newest checkpoint until training is over, or has failed.
func (e *Estimator) runEvaluator(ctx context.Context, maxSteps int64, eval EvalSpec) (Result, error) {
	ctx, stop := e.untilFailure(ctx)
	defer stop()
	res, err := e.evaluateAll(ctx, maxSteps, eval)
	var end *distribute.EndError
	if err != nil && errors.As(context.Cause(ctx), &end) {
		err = end
	}
	return res, err
}

func (e *Estimator) evaluateAll(ctx context.Context, maxSteps int64, eval EvalSpec) (Result, error) {
	if e.config.TaskID() > 0 {
		return Result{}, mistakef("for distributed training, there can only be one evaluator task (with task id 0), given task id %d", e.config.TaskID())
	}
	if err := fpConnect.Here(); err != nil {
		return Result{}, err
	}
	if eval.StartDelay > 0 {
		e.log.Info("waiting before evaluation starts", "delay", eval.StartDelay)
	}
	if err := sleep(ctx, eval.StartDelay); err != nil {
		return Result{}, err
	}
	v := &evaluator{est: e, spec: eval, maxSteps: maxSteps, evaluated: e.lastEvaluated(eval.Name)}
	for {
		began := time.Now()
		over, err := v.turn(ctx)
		if err != nil || over {
			return Result{TrainResult: TrainResult{GlobalStep: v.evaluated, Loss: math.NaN(), StopReason: v.reason}, Eval: v.last, Exports: v.exports}, err
		}
		if err := v.wait(ctx, eval.Throttle-time.Since(began)); err != nil {
			return Result{}, err
		}
	}
}

// evaluator is a side-car that evaluates the chief's checkpoints.
type evaluator struct {
	est       *Estimator
	spec      EvalSpec
	maxSteps  int64
	evaluated int64 // step of the last evaluation, -1 for none
	last      *EvalResult
	exports   []string
	passed    bool // the last evaluation was reported,
	closed    bool // and as the last one
	reason    string
	absent    *waiting.Wait // for the first checkpoint; nil: there is one
}

// turn evaluates the newest checkpoint if it is new, and reports whether training is over.
func (v *evaluator) turn(ctx context.Context) (over bool, err error) {
	state, err := checkpoint.LoadRunState(atomicfile.OS{}, v.est.modelDir)
	if err != nil {
		return false, err
	}
	r, err := checkpoint.OpenLatest(ctx, v.est.modelDir)
	if errors.Is(err, checkpoint.ErrNone) {
		if v.absent == nil {
			v.est.log.Info("there is no checkpoint yet", "model_dir", v.est.modelDir)
			w := waiting.Begin(time.Now())
			v.absent = &w
		}
		return state.Finished != nil, nil
	}
	v.absent = nil
	if err != nil {
		return false, err
	}
	step, prefix := r.Step(), r.Prefix()
	if err := r.Close(); err != nil {
		return false, err
	}
	// Nothing comes after the end, though the last checkpoint may be damaged or never
	// have been written. But max_steps may have been raised since.
	raised := state.Finished != nil && state.Finished.Reason == StopMaxSteps && state.Finished.GlobalStep < v.maxSteps
	over = state.Finished != nil && !raised || v.maxSteps > 0 && step >= v.maxSteps
	if state.Finished != nil {
		v.reason = state.Finished.Reason
	}
	if step == v.evaluated {
		return over, v.catchUp(ctx, prefix, over)
	}
	res, err := v.est.Evaluate(ctx, v.spec.Input, v.spec.options()...)
	if err != nil {
		return false, err
	}
	v.evaluated = res.GlobalStep
	return over, v.report(ctx, res, over)
}

// report passes an evaluation to AfterEval and the exporters.
func (v *evaluator) report(ctx context.Context, res EvalResult, final bool) error {
	v.last, v.passed, v.closed = &res, true, final
	dirs, err := v.spec.after(ctx, v.est, res, final)
	v.exports = append(v.exports, dirs...)
	return err
}

// catchUp repeats the last evaluation of a checkpoint for exporters that may have missed it, or
// that it is the final one: an evaluator may have ended in between.
func (v *evaluator) catchUp(ctx context.Context, prefix string, over bool) error {
	if v.closed || v.passed && !over {
		return nil
	}
	v.passed, v.closed = true, over
	res := v.last
	if res == nil {
		res = v.est.recordedEvaluation(v.spec.Name, v.evaluated, prefix)
	}
	if res == nil {
		return nil
	}
	dirs, err := v.spec.export(ctx, v.est, *res, over)
	v.exports = append(v.exports, dirs...)
	return err
}

// wait waits between two evaluations; the end of training cuts it short.
func (v *evaluator) wait(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(max(d, evaluatorPoll))
	for time.Now().Before(until) {
		if err := sleep(ctx, min(time.Until(until), evaluatorPoll)); err != nil {
			return err
		}
		if v.absent != nil {
			v.absent.Report(v.est.log, func() []waiting.Target {
				return []waiting.Target{{Name: "the first checkpoint in " + v.est.modelDir, Reason: "the chief has not saved one"}}
			})
		}
		if s, err := checkpoint.LoadRunState(atomicfile.OS{}, v.est.modelDir); err == nil && s.Finished != nil {
			return nil
		}
	}
	return nil
}

// lastEvaluated is the step of the last evaluation in the events, -1 for none.
func (e *Estimator) lastEvaluated(name string) int64 {
	all, err := summary.ReadScalars(e.EvalDir(name))
	if err != nil || len(all) == 0 {
		return -1
	}
	return slices.Max(all.Steps())
}
