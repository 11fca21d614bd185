package estimator

import (
	"context"
	"errors"
	"math"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/distribute/sidecar"
)

// runEvaluator evaluates each newest checkpoint until training is over, or has failed.
func (e *Estimator) runEvaluator(ctx context.Context, maxSteps int64, eval EvalSpec) (Result, error) {
	ctx, stop := sidecar.UntilFailure(ctx, e.modelDir, *lastEnd.Load())
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
	w := sidecar.Watch{Dir: e.modelDir, LastStep: maxSteps, StartDelay: eval.StartDelay, Throttle: eval.Throttle,
		Evaluated: sidecar.LastEvaluated(e.EvalDir(eval.Name)), Log: e.log}
	v := &evaluator{est: e, spec: eval, evaluated: w.Evaluated}
	out, err := w.Run(ctx, v)
	return Result{TrainResult: TrainResult{GlobalStep: out.Step, Loss: math.NaN(), StopReason: out.Reason}, Eval: v.last, Exports: v.exports}, err
}

// evaluator is a side-car that evaluates the chief's checkpoints.
type evaluator struct {
	est       *Estimator
	spec      EvalSpec
	evaluated int64 // step of the last evaluation, -1 for none
	last      *EvalResult
	exports   []string
	passed    bool // the last evaluation was reported,
	closed    bool // and as the final one
}

var _ sidecar.Evaluator = (*evaluator)(nil)

// Evaluate evaluates the newest checkpoint, and passes the evaluation to AfterEval and the exporters.
func (v *evaluator) Evaluate(ctx context.Context, final bool) (int64, error) {
	res, err := v.est.Evaluate(ctx, v.spec.Input, v.spec.options()...)
	if err != nil {
		return 0, err
	}
	v.evaluated, v.last, v.passed, v.closed = res.GlobalStep, &res, true, final
	dirs, err := v.spec.after(ctx, v.est, v.spec.evaluation(res, final))
	v.exports = append(v.exports, dirs...)
	return res.GlobalStep, err
}

// Again passes the last evaluation to the exporters again. An evaluator that ended early may
// not have told them of it, or not that it is the final one.
func (v *evaluator) Again(ctx context.Context, prefix string, over bool) error {
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
	dirs, err := v.spec.export(ctx, v.est, v.spec.evaluation(*res, over))
	v.exports = append(v.exports, dirs...)
	return err
}
