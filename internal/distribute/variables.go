package distribute

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// deviceVariables are variables that are whole on one device.
type deviceVariables struct{ *engine.Variables }

var _ Variables = deviceVariables{}

// Create makes the variable from its whole initial value.
func (v deviceVariables) Create(name string, t graph.Type, initial Fill) error {
	return v.CreateBy(name, t, initial.whole)
}

// Set replaces the value.
func (v deviceVariables) Set(name string, value Fill) error { return v.SetBy(name, value.whole) }

// snapshot returns all values. They are valid until the next step.
func (v deviceVariables) snapshot() (*Snapshot, error) {
	all, err := v.Views()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Tensors: all}
	if step := all[GlobalStep]; step != nil {
		s.Step = tensor.Values[int64](step)[0]
	}
	return s, nil
}
