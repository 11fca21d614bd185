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
	// AfterSave is called after it is written. Returning true ends training.
	AfterSave(ctx context.Context, prefix string, step int64) (stop bool, err error)
	// End is called when training ended at that step, after the last save.
	End(ctx context.Context, step int64) error
}

// CheckpointSaver writes a checkpoint when training begins, at intervals of steps or
// seconds, and when training ends, unless the step is saved already.
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

// With returns a saver with further listeners; h does not change.
func (h *CheckpointSaver) With(ls ...CheckpointListener) *CheckpointSaver {
	c := *h
	c.timer = NewTimer(h.timer.every)
	c.listeners = append(h.listeners[:len(h.listeners):len(h.listeners)], ls...)
	return &c
}

// Priority is PrioritySave: other hooks come first, so that their state is saved as of this step.
func (h *CheckpointSaver) Priority() int { return PrioritySave }

// Tensorless says that the saver reads no tensors, only variables.
func (h *CheckpointSaver) Tensorless() {}

// Reads reports whether the next step is saved, since guards must look at it first.
func (h *CheckpointSaver) Reads(r Run) bool { return h.timer.ShouldTrigger(r.GlobalStep() + 1) }

// Begin calls the listeners.
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
	if !h.timer.ShouldTrigger(step) || Unread(r) { // after an unread step, the next one is read and saved
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
