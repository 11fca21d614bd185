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

// RunOption adjusts one call of Train, Evaluate or Predict.
type RunOption func(*runOptions)

type runOptions struct {
	steps, maxSteps       int64
	stepsSet, maxStepsSet bool
	hooks                 []hooks.Hook
	listeners             []hooks.CheckpointListener
	checkpoint            string
	name                  string
	keys                  []string
	bare                  bool // no hooks at all
	inMemory              bool // the variables are as they should be: load no checkpoint
	// merge, where set, adds what other tasks accumulated over so many batches to
	// the accumulators, and returns the number of batches of all.
	merge func(ctx context.Context, acc *accumulators, batches int64) (int64, error)
}

// Steps bounds a call to n steps: of training, added to those done; of
// evaluation, counted from its start.
func Steps(n int64) RunOption {
	return func(o *runOptions) { o.steps, o.stepsSet = n, true }
}

// MaxSteps ends training when the global step reaches n. Where it has been
// reached already, nothing is done.
func MaxSteps(n int64) RunOption {
	return func(o *runOptions) { o.maxSteps, o.maxStepsSet = n, true }
}

// WithHooks adds hooks to the call's loop.
func WithHooks(hs ...hooks.Hook) RunOption {
	return func(o *runOptions) { o.hooks = append(o.hooks, hs...) }
}

// WithSavingListeners adds listeners to the checkpoint saver of training.
func WithSavingListeners(ls ...hooks.CheckpointListener) RunOption {
	return func(o *runOptions) { o.listeners = append(o.listeners, ls...) }
}

// CheckpointPath evaluates or predicts from the checkpoint of that prefix instead of the newest.
func CheckpointPath(prefix string) RunOption {
	return func(o *runOptions) { o.checkpoint = prefix }
}

// EvalName names an evaluation, so that several have events of their own.
func EvalName(name string) RunOption {
	return func(o *runOptions) { o.name = name }
}

// PredictKeys limits predictions to the given names.
func PredictKeys(keys ...string) RunOption {
	return func(o *runOptions) { o.keys = keys }
}

func newRunOptions(opts []RunOption) (runOptions, error) {
	var o runOptions
	for _, f := range opts {
		if f == nil {
			return o, errors.New("an option is nil: leave it out")
		}
		f(&o)
	}
	switch {
	case o.stepsSet && o.maxStepsSet:
		return o, errors.New("can not provide both steps and max_steps")
	case o.stepsSet && o.steps <= 0:
		return o, fmt.Errorf("must specify steps > 0, given: %d", o.steps)
	case strings.ContainsAny(o.name, `/\`):
		return o, fmt.Errorf("the name of an evaluation must be no path: %q", o.name)
	case o.maxStepsSet && o.maxSteps <= 0:
		return o, fmt.Errorf("must specify max_steps > 0, given: %d", o.maxSteps)
	}
	if slices.Contains(o.hooks, nil) {
		return o, errNilHook
	}
	if slices.Contains(o.listeners, nil) {
		return o, errors.New("a saving listener is nil: leave it out")
	}
	return o, nil
}
