package hooks

import "context"

// stopMaxSteps is the reason that StopAtStep gives.
const stopMaxSteps = "max_steps"

// StopAtStep ends training at a given global step.
type StopAtStep struct {
	Base
	last  int64
	extra int64 // instead of last: steps after the first AfterCreateSession
}

var (
	_ Tensorless = (*StopAtStep)(nil)
	_ Selective  = (*StopAtStep)(nil)
)

// NewStopAtStep returns a hook that ends training when the global step reaches last.
func NewStopAtStep(last int64) *StopAtStep { return &StopAtStep{last: last} }

// NewStopAfterSteps returns a hook that ends training n steps after it begins.
func NewStopAfterSteps(n int64) *StopAtStep { return &StopAtStep{extra: n} }

// Tensorless says that the hook reads no tensors.
func (h *StopAtStep) Tensorless() {}

// AfterCreateSession fixes the last step, the first time.
func (h *StopAtStep) AfterCreateSession(_ context.Context, r Run) error {
	if h.last == 0 {
		h.last = r.GlobalStep() + h.extra
	}
	h.check(r)
	return nil
}

// Reads reports whether the next step is the last: other hooks report its tensors.
func (h *StopAtStep) Reads(r Run) bool { return r.GlobalStep()+1 >= h.last }

// AfterRun asks to stop at the last step.
func (h *StopAtStep) AfterRun(_ context.Context, r Run) error {
	h.check(r)
	return nil
}

func (h *StopAtStep) check(r Run) {
	if r.GlobalStep() >= h.last {
		r.RequestStop(stopMaxSteps)
	}
}
