package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// hostTarget is the target of devices that run Go code: the host and the fake device.
type hostTarget struct{ dev device.Device }

var _ target = hostTarget{}

func (t hostTarget) fuse(p *plan, ops []*op) []*op {
	ops = narrowWeights(p, ops)
	ops = fuse(ops, p.fetched, p.changing)
	if !p.options.CheckNumerics { // else ops stay apart, so that the node of a NaN can be named
		ops = fuseRegions(p, ops)
	}
	if p.options.OwnFetches {
		ops = ownFetches(ops, p.fetched)
	}
	return ops
}

func (t hostTarget) bind(p *plan, s *step, shared *sharedWeights) error {
	return s.bind(p, s.op, p.changing, shared)
}

func (t hostTarget) place(p *plan, _ *Variables) error {
	p.inPlace = t.dev.Kind() == device.KindHost
	if p.inPlace {
		return nil
	}
	for _, o := range p.ops {
		if o.feed >= 0 || o.node.Op == "Const" {
			p.onDevice[o.out[0]] = true
		}
	}
	return nil
}

func (t hostTarget) open(s *state) (executor, pipeline, error) {
	h := &hostExecutor{state: s}
	h.kernel.h = h
	if err := h.uploadConstants(device.Alignment); err != nil {
		return h, nil, err
	}
	for _, o := range h.ops {
		if o.node.Op != "Const" || o.feed >= 0 || !h.onDevice[o.out[0]] {
			continue
		}
		v, m := o.out[0], h.consts.(device.Mapped)
		v.mem = m.Map()[v.off : v.off+len(v.mem)]
	}
	return h, inOrder{t.dev.Kind()}, nil
}

// inOrder is the pipeline of devices that do one run after the other.
type inOrder struct{ kind string }

var _ pipeline = inOrder{}

func (inOrder) upload([]*tensor.Tensor) (*feedSet, error) { return nil, nil }
func (inOrder) issue() error                              { return nil }
func (inOrder) wait() error                               { return nil }

func (o inOrder) resident([]Resident) (feeder, error) {
	return nil, fmt.Errorf("run on values of the device: expected an accelerator, got device %s", o.kind)
}

func (o inOrder) leave([]int) error {
	return fmt.Errorf("leave fetches on the device: expected an accelerator, got device %s", o.kind)
}
