package hooks

import (
	"context"
	"errors"
)

// A CheckpointListener is called around each checkpoint that a CheckpointSaver writes.
type CheckpointListener interface {
	// Begin is called once, before the loop.
	Begin() error
	// BeforeSave is called before a checkpoint of that step is written.
	BeforeSave(ctx context.Context, step int64) error
	// AfterSave is called after; returning true ends training.
	AfterSave(ctx context.Context, prefix string, step int64) (stop bool, err error)
	// End is called when training ended at that step, after the last save.
	End(ctx context.Context, step int64) error
}

// CheckpointSaver writes a checkpoint when training begins, every so many steps
// or seconds, and when it ends, unless the step is saved already.
type CheckpointSaver struct {
	Base
	timer     *Timer
	listeners []CheckpointListener
	saved     int64
	saver     Checkpointer
}

var (
	_ Hook        = (*CheckpointSaver)(nil)
	_ Prioritized = (*CheckpointSaver)(nil)
	_ Tensorless  = (*CheckpointSaver)(nil)
)

// NewCheckpointSaver returns a saver with the given listeners.
func NewCheckpointSaver(every Every, listeners ...CheckpointListener) (*CheckpointSaver, error) {
	if err := every.Validate(); err != nil {
		return nil, err
	}
	return &CheckpointSaver{timer: NewTimer(every), listeners: listeners, saved: -1}, nil
}

// With returns a saver with further listeners; h stays as it is.
func (h *CheckpointSaver) With(ls ...CheckpointListener) *CheckpointSaver {
	c := *h
	c.timer = NewTimer(h.timer.every)
	c.listeners = append(h.listeners[:len(h.listeners):len(h.listeners)], ls...)
	return &c
}

// Priority is the last: what other hooks keep is saved as of this step.
func (h *CheckpointSaver) Priority() int { return PrioritySave }

// Tensorless marks that only variables are saved.
func (h *CheckpointSaver) Tensorless() {}

// Reads reports whether the next step is saved: guards look at it first.
func (h *CheckpointSaver) Reads(r Run) bool { return h.timer.ShouldTrigger(r.GlobalStep() + 1) }

// Begin tells the listeners.
func (h *CheckpointSaver) Begin(Setup) error {
	for _, l := range h.listeners {
		if err := l.Begin(); err != nil {
			return err
		}
	}
	return nil
}

// AfterCreateSession saves the state that training begins with.
func (h *CheckpointSaver) AfterCreateSession(ctx context.Context, r Run) error {
	c, ok := r.(Checkpointer)
	if !ok {
		return errors.New("checkpoint saver: this loop cannot save: only training on the chief can")
	}
	h.saver = c
	h.timer.Trigger(r.GlobalStep())
	return h.save(ctx, r)
}

// AfterRun saves if it is time.
func (h *CheckpointSaver) AfterRun(ctx context.Context, r Run) error {
	step := r.GlobalStep()
	if !h.timer.ShouldTrigger(step) || Unread(r) { // the next step is read, then
		return nil
	}
	h.timer.Trigger(step)
	return h.save(ctx, r)
}

// End saves the last step.
func (h *CheckpointSaver) End(ctx context.Context, r Run) error {
	step := r.GlobalStep()
	if h.saved != step {
		if err := h.save(ctx, r); err != nil {
			return err
		}
	}
	for _, l := range h.listeners {
		if err := l.End(ctx, step); err != nil {
			return err
		}
	}
	return nil
}

func (h *CheckpointSaver) save(ctx context.Context, r Run) error {
	step := r.GlobalStep()
	for _, l := range h.listeners {
		if err := l.BeforeSave(ctx, step); err != nil {
			return err
		}
	}
	prefix, err := h.saver.SaveCheckpoint(ctx)
	if err != nil {
		return err
	}
	h.saved = step
	for _, l := range h.listeners {
		stop, err := l.AfterSave(ctx, prefix, step)
		if err != nil {
			return err
		}
		if stop {
			r.RequestStop("saving listener")
		}
	}
	return nil
}
