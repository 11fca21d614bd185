package engine

import (
	"errors"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// hostSide is the memory of the steps that run on the host beside an accelerator: copies of their values and variables.
type hostSide struct {
	shadows  map[*variable]*shadow
	mirrored map[*value]bool // made or read on the host
	touched  []*shadow       // shadows that steps use
	mem      []byte
	free     func() error
}

// shadow is a variable and its copy on the host.
type shadow struct {
	of, copy *variable
}

// shadow returns a variable's shadow. A new one has no memory yet.
func (h *hostSide) shadow(v *variable) *shadow {
	s := h.shadows[v]
	if s == nil {
		s = &shadow{v, &variable{dtype: v.dtype, shape: v.shape, elem: v.elem, n: v.n}}
		h.shadows[v] = s
	}
	return s
}

// memoryOf returns the memory in which Go code on the host reads a variable, nil if none does.
func (h *hostSide) memoryOf(v *variable) []byte {
	if s := h.shadows[v]; s != nil {
		return s.copy.memory()
	}
	return nil
}

// open gives the copy memory.
func (s *shadow) open() error {
	if s.copy.buf != nil {
		return nil
	}
	buf, err := device.NewHost().Alloc(s.of.n * s.of.elem)
	s.copy.buf = buf
	return err
}

// allocate replaces the memory of values. It is page-locked if the device has such memory.
func (h *hostSide) allocate(dev device.Device, bytes int) error {
	if err := h.release(); err != nil || bytes == 0 {
		return err
	}
	if d, ok := dev.(device.HostAllocator); ok {
		b, err := d.AllocHost(bytes)
		if err != nil {
			return err
		}
		h.mem, h.free = b.Bytes(), b.Free
		return nil
	}
	b, err := device.NewHost().Alloc(bytes)
	if err != nil {
		return err
	}
	h.mem, h.free = b.(device.Mapped).Map(), b.Free
	return nil
}

func (h *hostSide) release() error {
	if h.free == nil {
		return nil
	}
	err := h.free()
	h.mem, h.free = nil, nil
	return err
}

func (h *hostSide) close() error {
	err := h.release()
	for _, s := range h.shadows {
		if s.copy.buf != nil {
			err = errors.Join(err, s.copy.buf.Free())
		}
	}
	clear(h.shadows)
	return err
}

// reserve lays out the copies of values as the values themselves: by lifetime, or from run to run.
func (h *hostSide) reserve(ops []*op, dev device.Device) error {
	bases := map[*value]bool{}
	var bySteps, kept []*value
	for v := range h.mirrored {
		bases[v.base()] = true
	}
	for _, o := range ops { // in the plan's order, so that the layout is deterministic
		for _, v := range o.out {
			if !bases[v] {
				continue
			}
			twin := &value{root: v, size: v.size, def: v.def, last: v.last}
			switch v.home {
			case inArena:
				bySteps = append(bySteps, twin)
			case inPersist:
				kept = append(kept, twin)
			}
		}
	}
	size := place(bySteps, device.Alignment)
	for _, t := range kept {
		t.off = size
		size += alignUp(t.size, device.Alignment)
	}
	if err := h.allocate(dev, size); err != nil {
		return err
	}
	for _, t := range append(bySteps, kept...) {
		t.root.mem = h.mem[t.off : t.off+t.size : t.off+t.size]
	}
	return nil
}
