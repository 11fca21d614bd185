package distribute

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// mirror has copies, on a GPU, of the central variables that a replica's program reads.
type mirror struct {
	central, copies *engine.Variables
	values          map[string]*tensor.Tensor
}

func newMirror(central *engine.Variables, dev device.Device, fetches []graph.Output) (*mirror, error) {
	m := &mirror{central: central, values: map[string]*tensor.Tensor{}}
	var err error
	if m.copies, err = engine.NewVariables(dev); err != nil {
		return nil, err
	}
	for name := range readsOf(reachable(fetches, nil)) {
		if m.values[name], err = central.Get(name); err == nil {
			err = m.copies.Create(name, m.values[name])
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("variable %s: %w", name, err), m.copies.Close())
		}
	}
	return m, nil
}

// refresh updates the copies to the central values.
func (m *mirror) refresh() error {
	for name, t := range m.values {
		if err := m.central.ReadAt(name, t.Bytes, 0); err != nil {
			return err
		}
		if err := m.copies.Set(name, t); err != nil {
			return err
		}
	}
	return nil
}
