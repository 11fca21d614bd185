package hooks

import (
	"context"
	"fmt"
	"math"
)

// NaNLossError reports that a tensor, usually the loss, became NaN.
type NaNLossError struct {
	Tensor string
	Step   int64
	Cause  error // the value of the input that caused it; nil: unknown
	// Skipped is the number of consecutive updates that were skipped before training ended, this one included; 0: none.
	Skipped int64
}

// Error begins like the text of TensorFlow's NanLossDuringTrainingError.
func (e *NaNLossError) Error() string {
	text := fmt.Sprintf("NaN loss during training: %s is NaN at step %d: ", e.Tensor, e.Step)
	if e.Skipped > 0 {
		text = fmt.Sprintf("NaN loss during training: the gradients or %s are not finite at step %d; updates in a row that are not finite: %d: ", e.Tensor, e.Step, e.Skipped)
	}
	if e.Cause != nil {
		return text + e.Cause.Error()
	}
	return text + "lower the learning rate, clip gradients, or look for bad input; run.check_numerics names the first node"
}

// Unwrap returns the cause.
func (e *NaNLossError) Unwrap() error { return e.Cause }

// StopNaNLoss is the reason for which a NaN guard without FailOnNaN stops training.
const StopNaNLoss = "nan_loss"

// NaN guards a scalar tensor: a NaN, but not an infinity, ends training with a
// NaNLossError or, if FailOnNaN is false, without an error. On a GPU it looks when
// other hooks read tensors, before checkpoints, and every hundred steps. If the
// optimizer skips updates that are not finite, training ends only when it has skipped
// more of them in a row than its limit, whatever the tensor is.
type NaN struct {
	Base
	Tensor    string
	FailOnNaN bool
}

var (
	_ Hook        = (*NaN)(nil)
	_ Prioritized = (*NaN)(nil)
	_ Selective   = (*NaN)(nil)
)

// NewNaN returns a guard with FailOnNaN set.
func NewNaN(tensor string) *NaN { return &NaN{Tensor: tensor, FailOnNaN: true} }

// Priority is PriorityGuard: nothing is written for a step that failed.
func (h *NaN) Priority() int { return PriorityGuard }

// Begin asks for the tensor.
func (h *NaN) Begin(s Setup) error { return s.Fetch(h.Tensor) }

// Reads is false: a NaN persists until other hooks read tensors.
func (h *NaN) Reads(Run) bool { return false }

// AfterRun looks at the tensor.
func (h *NaN) AfterRun(_ context.Context, r Run) error {
	if Unread(r) {
		return nil
	}
	switch s, err := skipped(r); {
	case err != nil:
		return err
	case s.Limit > 0 && s.InARow <= s.Limit:
		return nil
	case s.Limit > 0:
		return h.found(r, s.InARow)
	}
	v, err := r.Value(h.Tensor)
	if err != nil {
		return err
	}
	if v.Len() == 0 || !math.IsNaN(v.Float(0)) {
		return nil
	}
	return h.found(r, 0)
}

// found ends training.
func (h *NaN) found(r Run, skipped int64) error {
	if h.FailOnNaN {
		return &NaNLossError{Tensor: h.Tensor, Step: r.GlobalStep(), Skipped: skipped}
	}
	r.RequestStop(StopNaNLoss)
	return nil
}
