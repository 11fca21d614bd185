package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// segment is steps of a program on an accelerator that follow each other on the same side.
type segment struct {
	steps  []*step
	kernel device.Kernel // nil on the host

	// Of a part on the host:
	loads, stores       []*value // to bring before, to give back after
	loadVars, storeVars []*shadow
}

// split cuts the program where the side changes, and after every step that is looked at by itself.
func (l *lowered) split() error {
	p := l.p
	for i := range l.once {
		l.once[i] = l.segments(p.byFrequency[i])
	}
	for _, r := range p.phases {
		l.phases = append(l.phases, l.segments(p.byFrequency[perRun][r.from:r.to]))
	}
	l.findWanted()
	t := transfers{l: l, has: map[*value]bool{}, current: map[*shadow]bool{}}
	for i := range l.once {
		t.visit(l.once[i])
	}
	for i := range l.phases {
		t.visit(l.phases[i])
	}
	for s := range t.current {
		if err := s.open(); err != nil {
			return err
		}
	}
	return nil
}

// segments divides steps into parts, and makes kernels of those of the accelerator.
func (l *lowered) segments(steps []*step) []segment {
	singly := l.p.opts.CheckNumerics || l.p.opts.Profile
	var parts []segment
	for from := 0; from < len(steps); {
		to := from + 1
		for to < len(steps) && !singly && (steps[to].operation == nil) == (steps[from].operation == nil) {
			to++
		}
		t := segment{steps: steps[from:to:to]}
		if steps[from].operation != nil {
			var ops []int
			for _, s := range t.steps {
				ops = append(ops, s.operation.Index)
			}
			t.kernel = l.code.Segment(ops)
		}
		parts = append(parts, t)
		from = to
	}
	return parts
}

// writes reports whether a step of the part updates a variable.
func (t *segment) writes() bool {
	return slices.ContainsFunc(t.steps, func(s *step) bool { return len(s.op.write) > 0 })
}

// findWanted finds the values that have to be on the device.
func (l *lowered) findWanted() {
	l.host.onDevice = map[*value]bool{}
	for _, s := range l.p.steps {
		if s.operation == nil {
			continue
		}
		for _, in := range s.op.in {
			l.host.onDevice[storageOf(in).value()] = true
		}
	}
	for _, f := range l.p.fetched {
		l.host.onDevice[storageOf(f).value()] = true
	}
}

// transfers finds what parts on the host have to copy, given what the host has already when they run.
type transfers struct {
	l       *lowered
	has     map[*value]bool  // the host has the value
	current map[*shadow]bool // the copy is as the variable; false: it was once
}

func (t *transfers) visit(parts []segment) {
	for i := range parts {
		at := &parts[i]
		for _, s := range at.steps {
			if at.kernel == nil {
				t.onHost(at, s)
				continue
			}
			for _, v := range s.op.write {
				if x := t.l.host.shadows[v]; x != nil && t.current[x] {
					t.current[x] = false
				}
			}
			if t.l.p.opts.CheckNumerics { // see lowered.checkPart
				t.mirror(s)
			}
		}
	}
}

// onHost finds what one step needs, and what others need of it.
func (t *transfers) onHost(at *segment, s *step) {
	h := &t.l.host
	for _, in := range s.op.in {
		src := storageOf(in)
		v := src.value()
		switch {
		case v.home == nowhere || v.home == inConst || v.home == inFeed:
		case v.home == inVariable:
			t.need(at, h.shadow(src.op.reads))
		case !t.has[v]:
			at.loads = append(at.loads, v)
			h.mirrored[v], t.has[v] = true, true
		}
	}
	if s.op.reads != nil {
		t.need(at, h.shadow(s.op.reads))
	}
	for _, v := range s.op.write {
		x := h.shadow(v)
		t.need(at, x)
		if !slices.Contains(at.storeVars, x) {
			at.storeVars = append(at.storeVars, x)
		}
	}
	for _, v := range s.out {
		h.mirrored[v], t.has[v] = true, true
		if h.onDevice[v] {
			at.stores = append(at.stores, v)
		}
	}
}

// mirror gives the results of a step, and variables that it reads, memory on the host, too.
func (t *transfers) mirror(s *step) {
	for _, in := range s.op.in {
		in = storageOf(in)
		switch v := in.value(); {
		case in.op.reads == nil:
		case v.home == inVariable:
			x := t.l.host.shadow(in.op.reads)
			t.current[x] = t.current[x]
		default:
			t.l.host.mirrored[v] = true
		}
	}
	for _, v := range s.out {
		t.l.host.mirrored[v] = true
	}
}

func (t *transfers) need(at *segment, x *shadow) {
	if !t.current[x] {
		at.loadVars = append(at.loadVars, x)
		t.current[x] = true
	}
}
