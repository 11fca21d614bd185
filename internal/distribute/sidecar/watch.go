package sidecar

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/internal/format/checkpoint"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/internal/platform/waiting"
)

// Evaluator evaluates checkpoints for a Watch.
type Evaluator interface {
	// Evaluate evaluates the newest readable checkpoint and returns its step. final says that no
	// other one is expected. If the checkpoint was deleted, the error wraps checkpoint.ErrNone.
	Evaluate(ctx context.Context, final bool) (step int64, err error)
	// Again is called in place of Evaluate if the newest checkpoint was already evaluated.
	Again(ctx context.Context, prefix string, final bool) error
}

// Watch says which checkpoints are evaluated, and until when.
type Watch struct {
	Dir        string        // model_dir
	LastStep   int64         // the last step of training; 0: the chief says when training ends
	Most       int           // the most evaluations; 0: no limit
	StartDelay time.Duration // before the first look
	Throttle   time.Duration // least time between the starts of two evaluations
	Poll       time.Duration // most time between two looks at model_dir; 0: a second
	Evaluated  int64         // step of an earlier evaluation, -1 for none
	Log        *slog.Logger
}

// Outcome says what was evaluated last.
type Outcome struct {
	Step   int64  // -1 for none
	Reason string // why training ended, as the chief wrote
}

// Run evaluates each newest checkpoint until training is over. It skips checkpoints that are replaced
// during an evaluation. If none can be read, it waits for another one.
func (w Watch) Run(ctx context.Context, e Evaluator) (Outcome, error) {
	w.Poll = cmp.Or(w.Poll, time.Second)
	if w.StartDelay > 0 {
		w.Log.Info("waiting before evaluation starts", "delay", w.StartDelay)
	}
	if err := distribute.Sleep(ctx, w.StartDelay); err != nil {
		return Outcome{}, err
	}
	r := &run{Watch: w, evaluator: e, out: Outcome{Step: w.Evaluated}}
	for {
		began := time.Now()
		over, err := r.turn(ctx)
		if err != nil || over {
			return r.out, err
		}
		if err := r.wait(ctx, w.Throttle-time.Since(began)); err != nil {
			return Outcome{}, err
		}
	}
}

// run is a running Watch.
type run struct {
	Watch
	evaluator Evaluator
	out       Outcome
	count     int
	unread    bool          // it was reported that no checkpoint can be read
	absent    *waiting.Wait // for the first checkpoint; nil: there is one
}

// turn evaluates the newest checkpoint if it is new, and reports whether training is over.
func (r *run) turn(ctx context.Context) (over bool, err error) {
	state, err := checkpoint.LoadRunState(atomicfile.OS{}, r.Dir)
	if err != nil {
		return false, err
	}
	c, err := checkpoint.OpenLatest(ctx, r.Dir)
	if err != nil {
		return state.Finished != nil, r.missing(err, state.Finished != nil)
	}
	r.absent, r.unread = nil, false
	step, prefix := c.Step(), c.Prefix()
	if err := c.Close(); err != nil {
		return false, err
	}
	// After the end there are no more checkpoints, even if the last one is damaged or was
	// never written. But the last step may have been raised since.
	raised := state.Finished != nil && state.Finished.Reason == checkpoint.ReasonMaxSteps && state.Finished.GlobalStep < r.LastStep
	over = state.Finished != nil && !raised || r.LastStep > 0 && step >= r.LastStep
	if state.Finished != nil {
		r.out.Reason = state.Finished.Reason
	}
	if step == r.out.Step {
		return over, r.evaluator.Again(ctx, prefix, over)
	}
	last := r.Most > 0 && r.count+1 >= r.Most
	step, err = r.evaluator.Evaluate(ctx, over || last)
	if errors.Is(err, checkpoint.ErrNone) {
		return over, r.missing(err, over)
	}
	if err != nil {
		return false, err
	}
	r.out.Step = step
	r.count++
	return over || last, nil
}

// missing returns an error of opening a checkpoint, unless another one may come.
func (r *run) missing(err error, over bool) error {
	switch damaged := new(checkpoint.UnloadableError); {
	case errors.Is(err, checkpoint.ErrNone):
		if r.absent == nil {
			r.Log.Info("there is no checkpoint yet", "model_dir", r.Dir)
			w := waiting.Begin(time.Now())
			r.absent = &w
		}
		return nil
	case !over && errors.As(err, &damaged):
		if !r.unread {
			r.Log.Warn("no checkpoint can be read: waiting for another one", "error", err)
			r.unread = true
		}
		return nil
	}
	return err
}

// wait waits between two looks, or until training ends.
func (r *run) wait(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(max(d, r.Poll))
	for time.Now().Before(until) {
		if err := distribute.Sleep(ctx, min(time.Until(until), r.Poll)); err != nil {
			return err
		}
		if r.absent != nil {
			r.absent.Report(r.Log, func() []waiting.Target {
				return []waiting.Target{{Name: "the first checkpoint in " + r.Dir, Reason: "the chief has not saved one"}}
			})
		}
		if s, err := checkpoint.LoadRunState(atomicfile.OS{}, r.Dir); err == nil && s.Finished != nil {
			return nil
		}
	}
	return nil
}
