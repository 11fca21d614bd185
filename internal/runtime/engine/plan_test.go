package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// barren is a device without memory and streams.
type barren struct{ device.Device }

var errBarren = errors.New("nothing grows here")

func (barren) Alloc(int) (device.Buffer, error)         { return nil, errBarren }
func (barren) NewStream() (device.Stream, error)        { return nil, errBarren }
func (barren) AllocHost(int) (device.HostBuffer, error) { return nil, errBarren }

// barrenAccelerator is an accelerator that makes no kernels either.
type barrenAccelerator struct {
	barren
	t *twin
}

func (b barrenAccelerator) Supports(o *Operation) error { return b.t.Supports(o) }

func (b barrenAccelerator) Lower([]*Operation, LowerOptions) (Code, error) { return nil, errBarren }

// TestPlanIsData checks plans made for devices that have nothing.
func TestPlanIsData(t *testing.T) {
	host := device.NewHost()
	m := newMLP(tensor.Float32, 6, 5, 3, 0.1)
	vars := m.variables(t, host, 1)
	plans := map[string]*plan{}
	for name, dev := range map[string]device.Device{
		"host":        barren{host},
		"accelerator": barrenAccelerator{barren{host}, newTwin()},
		"split":       barrenAccelerator{barren{host}, refusing("BiasAddGrad")},
	} {
		p := ok(newPlan(m.g, m.spec, targetOf(dev), vars, Options{Capacity: 4}))
		if len(p.phases) != 1 || len(p.phases[0].fetches) != len(m.spec.Fetches) || len(p.feeds) != 2 || !p.updates {
			t.Errorf("%s: phases %v, %d feeds, updates %v", name, p.phases, len(p.feeds), p.updates)
		}
		if size, values := p.layout(4, device.Alignment, nil); size == 0 || len(values) == 0 {
			t.Errorf("%s: an arena of %d bytes for %d values", name, size, len(values))
		}
		if _, err := Compile(m.g, m.spec, dev, vars, Options{Capacity: 4}); !errors.Is(err, errBarren) {
			t.Errorf("%s: compile: %v", name, err)
		}
		plans[name] = p
	}
	if p := plans["host"]; len(p.operations) != 0 || p.continuous || !p.inPlace || len(p.onDevice) != 0 {
		t.Errorf("host: %d operations, continuous %v, in place %v", len(p.operations), p.continuous, p.inPlace)
	}
	if p := plans["accelerator"]; len(p.operations) == 0 || len(p.hostSteps) != 0 || !p.continuous || p.inPlace || !p.serial {
		t.Errorf("accelerator: %d operations, on the host %v, continuous %v", len(p.operations), p.hostSteps, p.continuous)
	}
	p := plans["split"]
	if len(p.hostSteps) == 0 || p.continuous || !slices.ContainsFunc(p.steps, func(s *step) bool { return s.operation == nil && s.op.node.Op == "BiasAddGrad" }) {
		t.Errorf("split: on the host %v, continuous %v", p.hostSteps, p.continuous)
	}
}
