package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// InMemoryEvaluator is a training hook that evaluates the current variables, without
// a checkpoint: when training begins, every n steps, and at the end. It works for
// training in one process.
type InMemoryEvaluator struct {
	hooks.Base
	est    *Estimator
	input  InputFn
	every  int64
	during bool // only between the beginning and the end
	// caller is the context whose end cuts an evaluation short, nil for the loop's.
	caller context.Context
	after  func(ctx context.Context, res EvalResult, final bool) error // called with each evaluation, unless nil
	opts   runOptions
	last   EvalResult
	latest int64
}

var _ hooks.Selective = (*InMemoryEvaluator)(nil)

// NewInMemoryEvaluator returns a hook for e.Train that evaluates every n steps;
// Steps, EvalName and WithHooks may be given as options.
func NewInMemoryEvaluator(e *Estimator, input InputFn, n int64, opts ...EvalOption) (*InMemoryEvaluator, error) {
	o, err := newRunOptions(opts, EvalOption.forEval)
	switch {
	case err != nil:
		return nil, fmt.Errorf("in-memory evaluator: %w", err)
	case o.checkpoint != "":
		return nil, errors.New("in-memory evaluator: evaluates no checkpoint: leave CheckpointPath out")
	case n <= 0:
		return nil, fmt.Errorf("in-memory evaluator: must evaluate every n > 0 steps, given: %d", n)
	case e.config.NumPS() > 0 || e.config.NumWorkers() > 1:
		return nil, errors.New("in-memory evaluator: supports training in one process only")
	}
	o.inMemory = true
	return &InMemoryEvaluator{est: e, input: input, every: n, opts: o, latest: -1}, nil
}

// Result is the last evaluation.
func (h *InMemoryEvaluator) Result() EvalResult { return h.last }

// AfterCreateSession evaluates the variables that training begins with.
func (h *InMemoryEvaluator) AfterCreateSession(ctx context.Context, r hooks.Run) error {
	if h.during {
		return nil
	}
	return h.evaluate(ctx, r)
}

// Reads reports whether the model is evaluated after the next step.
func (h *InMemoryEvaluator) Reads(r hooks.Run) bool { return (r.GlobalStep()+1)%h.every == 0 }

// AfterRun evaluates if an evaluation is due.
func (h *InMemoryEvaluator) AfterRun(ctx context.Context, r hooks.Run) error {
	if r.GlobalStep()%h.every != 0 {
		return nil
	}
	return h.evaluate(ctx, r)
}

// End evaluates the last step.
func (h *InMemoryEvaluator) End(ctx context.Context, r hooks.Run) error {
	if h.during || h.latest == r.GlobalStep() {
		return nil
	}
	return h.evaluate(ctx, r)
}

func (h *InMemoryEvaluator) evaluate(ctx context.Context, r hooks.Run) error {
	v, ok := r.(trainingView)
	if !ok || v.session.est.modelDir != h.est.modelDir {
		return errors.New("in-memory evaluator: expected a training loop of its own Estimator")
	}
	if h.caller != nil {
		ctx = h.caller
	}
	inf, ds, err := h.est.openInference(ctx, models.Eval, h.input)
	if err != nil {
		return err
	}
	if err := inf.copyFrom(v.session); err != nil {
		return err
	}
	res, err := inf.evaluate(ctx, ds, h.opts)
	if ctx.Err() != nil {
		return nil // the loop ends by itself
	}
	if err != nil {
		return fmt.Errorf("in-memory evaluation: %w", err)
	}
	h.last = res
	h.latest = r.GlobalStep()
	if err := h.est.writeEvalEvents(h.opts.name, h.last); err != nil {
		return err
	}
	if err := observed(ctx, r, h.opts.name, res); err != nil {
		return err
	}
	if h.after == nil {
		return nil
	}
	return h.after(ctx, res, false)
}

// copyFrom sets all variables to the values of a session that trains, or to their averages.
func (s *inference) copyFrom(o *session) error {
	to, from := s.session.strategy.Variables(), o.strategy.Variables()
	averages := s.est.averages(o)
	for _, name := range to.Names() {
		v, err := from.Get(cmp.Or(averages[name], name))
		if err != nil {
			return err
		}
		if err := to.Set(name, distribute.Whole(v)); err != nil {
			return err
		}
	}
	s.loaded, s.inMemory = "", true
	return s.readStep()
}
