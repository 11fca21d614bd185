package estimator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator/hooks"
)

var errNilHook = errors.New("a hook is nil: leave it out")

// TrainOption adjusts one call of Train.
type TrainOption interface{ forTrain(*runOptions) }

// EvalOption adjusts one call of Evaluate.
type EvalOption interface{ forEval(*runOptions) }

// PredictOption adjusts one call of Predict.
type PredictOption interface{ forPredict(*runOptions) }

// RunOption adjusts one call of Train, Evaluate or Predict.
type RunOption func(*runOptions)

// InferenceOption adjusts one call of Evaluate or Predict.
type InferenceOption func(*runOptions)

type (
	trainOption   func(*runOptions)
	evalOption    func(*runOptions)
	predictOption func(*runOptions)
)

var (
	_ TrainOption   = RunOption(nil)
	_ EvalOption    = RunOption(nil)
	_ PredictOption = RunOption(nil)
	_ EvalOption    = InferenceOption(nil)
	_ PredictOption = InferenceOption(nil)
)

func (f RunOption) forTrain(o *runOptions)         { o.apply(f) }
func (f RunOption) forEval(o *runOptions)          { o.apply(f) }
func (f RunOption) forPredict(o *runOptions)       { o.apply(f) }
func (f InferenceOption) forEval(o *runOptions)    { o.apply(f) }
func (f InferenceOption) forPredict(o *runOptions) { o.apply(f) }
func (f trainOption) forTrain(o *runOptions)       { o.apply(f) }
func (f evalOption) forEval(o *runOptions)         { o.apply(f) }
func (f predictOption) forPredict(o *runOptions)   { o.apply(f) }

type runOptions struct {
	steps, maxSteps       int64
	stepsSet, maxStepsSet bool
	hooks                 []hooks.Hook
	listeners             []hooks.CheckpointListener
	checkpoint            string
	name                  string
	keys                  []string
	bare                  bool // no hooks at all
	inMemory              bool // use the current variables: load no checkpoint
	// merge, if set, adds the other tasks' results over their batches to the
	// accumulators, and returns the total number of batches.
	merge func(ctx context.Context, acc *accumulators, batches int64) (int64, error)
	err   error
}

func (o *runOptions) apply(f func(*runOptions)) {
	if f == nil {
		o.err = errNilOption
		return
	}
	f(o)
}

var errNilOption = errors.New("an option is nil: leave it out")

// Steps limits a call to n steps. Training makes n steps in addition to the steps done
// before; evaluation and prediction run n batches.
func Steps(n int64) RunOption {
	return func(o *runOptions) { o.steps, o.stepsSet = n, true }
}

// MaxSteps ends training when the global step reaches n. If it already has, Train does
// nothing.
func MaxSteps(n int64) TrainOption {
	return trainOption(func(o *runOptions) { o.maxSteps, o.maxStepsSet = n, true })
}

// WithHooks adds hooks to the call's loop.
func WithHooks(hs ...hooks.Hook) RunOption {
	return func(o *runOptions) { o.hooks = append(o.hooks, hs...) }
}

// WithSavingListeners adds listeners to the checkpoint saver of training.
func WithSavingListeners(ls ...hooks.CheckpointListener) TrainOption {
	return trainOption(func(o *runOptions) { o.listeners = append(o.listeners, ls...) })
}

// CheckpointPath evaluates or predicts from the checkpoint with that prefix instead of the newest.
func CheckpointPath(prefix string) InferenceOption {
	return func(o *runOptions) { o.checkpoint = prefix }
}

// EvalName names an evaluation, so that each of several evaluations has events of its own.
func EvalName(name string) EvalOption {
	return evalOption(func(o *runOptions) { o.name = name })
}

// PredictKeys limits predictions to the given names.
func PredictKeys(keys ...string) PredictOption {
	return predictOption(func(o *runOptions) { o.keys = keys })
}

// newRunOptions applies each option by apply, the method for the kind of call.
func newRunOptions[O comparable](opts []O, apply func(O, *runOptions)) (runOptions, error) {
	var o runOptions
	var none O
	for _, f := range opts {
		if f == none {
			return o, errNilOption
		}
		apply(f, &o)
	}
	return o, o.validate()
}

func (o *runOptions) validate() error {
	switch {
	case o.err != nil:
		return o.err
	case o.stepsSet && o.maxStepsSet:
		return errors.New("can not provide both steps and max_steps")
	case o.stepsSet && o.steps <= 0:
		return fmt.Errorf("must specify steps > 0, given: %d", o.steps)
	case strings.ContainsAny(o.name, `/\`):
		return fmt.Errorf("the name of an evaluation must be no path: %q", o.name)
	case o.maxStepsSet && o.maxSteps <= 0:
		return fmt.Errorf("must specify max_steps > 0, given: %d", o.maxSteps)
	case slices.Contains(o.hooks, nil):
		return errNilHook
	case slices.Contains(o.listeners, nil):
		return errors.New("a saving listener is nil: leave it out")
	}
	return nil
}
