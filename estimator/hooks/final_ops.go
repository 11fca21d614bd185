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

// Values returns copies of the tensors by name, after the loop has ended.
func (h *FinalOps) Values() map[string]*tensor.Tensor { return h.values }

// Begin asks for the tensors.
func (h *FinalOps) Begin(s Setup) error {
	for _, n := range h.names {
		if err := s.Fetch(n); err != nil {
			return fmt.Errorf("final ops: %w", err)
		}
	}
	return nil
}

// End copies the values; without a step there are none.
func (h *FinalOps) End(_ context.Context, r Run) error {
	h.values = map[string]*tensor.Tensor{}
	if r.BatchSize() == 0 {
		return nil
	}
	for _, n := range h.names {
		v, err := r.Value(n)
		if err != nil {
			return err
		}
		h.values[n] = v.Clone()
	}
	return nil
}
