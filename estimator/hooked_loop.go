package estimator

import (
	"context"
	"fmt"
	"time"

	"github.com/goestimator/goestimator/estimator/hooks"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
)

// hookedLoop runs a session's steps, and calls hooks around each.
type hookedLoop struct {
	session  *session
	progress *progress
	view     view // of the hooks
	hooks    []hooks.Hook
}

// view is what hooks see of a loop.
type view interface {
	hooks.Setup
	hooks.Run
}

// begin lets hooks ask for tensors, then compiles the program unless that was done.
func (l *hookedLoop) begin(hs []hooks.Hook) error {
	l.hooks, l.progress.reason, l.session.profile = hooks.Sort(hs), "", false
	for _, h := range l.hooks {
		if err := h.Begin(l.view); err != nil {
			return fmt.Errorf("hook %T: %w", h, err)
		}
	}
	return l.session.prepare()
}

// start tells the hooks that variables have their values.
func (l *hookedLoop) start(ctx context.Context) error {
	for _, h := range l.hooks {
		if err := h.AfterCreateSession(ctx, l.view); err != nil {
			return err
		}
	}
	return nil
}

// end tells the hooks that the loop ended without an error.
func (l *hookedLoop) end(ctx context.Context) error {
	for _, h := range l.hooks {
		if err := h.End(ctx, l.view); err != nil {
			return err
		}
	}
	return nil
}

// step runs one step on the staged batches, hooks included.
func (l *hookedLoop) step(ctx context.Context, in distribute.Step) (distribute.Outcome, error) {
	for _, h := range l.hooks {
		if err := h.BeforeRun(ctx, l.view); err != nil {
			return distribute.Outcome{}, err
		}
	}
	p, train := l.progress, l.session.program.mode == models.Train
	p.rows, p.ran = 0, p.ran || len(in.Batches) > 0
	for _, b := range in.Batches {
		p.rows += b.Rows
	}
	began := time.Now()
	out, err := l.session.stepper.Step(ctx, in)
	p.times.Compute += time.Since(began)
	p.unread = in.Unread
	if err != nil || train && !out.Applied {
		return out, err
	}
	if train {
		p.step = out.GlobalStep
	}
	for _, h := range l.hooks {
		if _, ok := h.(hooks.Tensorless); !ok && !p.ran {
			continue
		}
		began := time.Now()
		err := h.AfterRun(ctx, l.view)
		p.spent(h, time.Since(began))
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// reads reports whether a hook reads tensors of the next step.
func (l *hookedLoop) reads() bool {
	for _, h := range l.hooks {
		if sel, ok := h.(hooks.Selective); ok {
			if sel.Reads(l.view) {
				return true
			}
			continue
		}
		if _, ok := h.(hooks.Tensorless); !ok {
			return true
		}
	}
	return false
}
