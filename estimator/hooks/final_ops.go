package hooks

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// FinalOps keeps the values that tensors have in the last step.
type FinalOps struct {
	Base
	names  []string
	values map[string]*tensor.Tensor
}

var _ Hook = (*FinalOps)(nil)

// NewFinalOps returns a hook for the named tensors.
func NewFinalOps(tensors ...string) *FinalOps { return &FinalOps{names: tensors} }

// Values returns copies of the tensors by name, after the loop has ended; none without a step.
func (h *FinalOps) Values() map[string]*tensor.Tensor { return h.values }

// Begin asks for the tensors.
func (h *FinalOps) Begin(s Setup) error {
	h.values = map[string]*tensor.Tensor{}
	for _, n := range h.names {
		if err := s.Fetch(n); err != nil {
			return fmt.Errorf("final ops: %w", err)
		}
	}
	return nil
}

// AfterRun copies the values. At the end of training in lock step it may be too late: the tasks then make a last step
// without data, to agree on the end.
func (h *FinalOps) AfterRun(_ context.Context, r Run) error {
	for _, n := range h.names {
		v, err := r.Value(n)
		if err != nil {
			return err
		}
		h.values[n] = v.Clone()
	}
	return nil
}
