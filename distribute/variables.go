package distribute

import (
	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
)

// deviceVariables are variables that lie whole on one device.
type deviceVariables struct{ *engine.Variables }

var _ Variables = deviceVariables{}

// Create makes the variable from its whole initial value.
func (v deviceVariables) Create(name string, t graph.Type, initial Fill) error {
	value, err := initial.tensor(t)
	if err != nil {
		return err
	}
	return v.Variables.Create(name, value)
}

// Set replaces the value.
func (v deviceVariables) Set(name string, value Fill) error {
	t, ok := v.Type(name)
	if !ok {
		_, err := v.Get(name) // says what is there
		return err
	}
	whole, err := value.tensor(t)
	if err != nil {
		return err
	}
	return v.Variables.Set(name, whole)
}

// snapshot copies all values.
func (v deviceVariables) snapshot() (*Snapshot, error) {
	all, err := v.Variables.Snapshot()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Tensors: all}
	if step := all[GlobalStep]; step != nil {
		s.Step = graph.Of[int64](step)[0]
	}
	return s, nil
}
