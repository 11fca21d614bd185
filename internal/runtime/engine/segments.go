package engine

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

// segment is consecutive steps of an accelerator's program that run on the same side.
type segment struct {
	steps  []*step
	onHost bool
	kernel device.Kernel // on the accelerator, once its code is made

	// On the host:
	loads, stores       []*value // values to copy to the host before, and back after
	loadVars, storeVars []*shadow
}

// split cuts the plan where the side changes or, if steps run singly, after every step.
func (l *lowering) split() {
	p := l.p
	for i := range l.once {
		l.once[i] = l.cut(p.byFrequency[i])
	}
	for _, r := range p.phases {
		l.phases = append(l.phases, l.cut(p.byFrequency[perRun][r.from:r.to]))
	}
	l.findOnDevice()
	t := transfers{l: l, has: map[*value]bool{}, current: map[*shadow]bool{}}
	for i := range l.once {
		t.visit(l.once[i])
	}
	p.continuous = p.options.OnFetch == nil && !l.singly()
	for i := range l.phases {
		t.visit(l.phases[i])
		p.continuous = p.continuous && !slices.ContainsFunc(l.phases[i], func(s segment) bool { return s.onHost })
	}
	l.host.touched = slices.Collect(maps.Keys(t.current))
}

// singly reports whether each step is launched and waited for by itself.
func (l *lowering) singly() bool { return l.p.options.CheckNumerics || l.p.options.Profile }

// cut divides steps into segments.
func (l *lowering) cut(steps []*step) []segment {
	var all []segment
	for from := 0; from < len(steps); {
		to := from + 1
		for to < len(steps) && !l.singly() && (steps[to].operation == nil) == (steps[from].operation == nil) {
			to++
		}
		all = append(all, segment{steps: steps[from:to:to], onHost: steps[from].operation == nil})
		from = to
	}
	return all
}

// each visits all segments.
func (l *lowering) each(f func(s *segment)) {
	for _, segments := range append(l.once[:], l.phases...) {
		for i := range segments {
			f(&segments[i])
		}
	}
}

// operationIndices returns the indices of the segment's operations.
func (t *segment) operationIndices() []int {
	all := make([]int, len(t.steps))
	for i, s := range t.steps {
		all[i] = s.operation.Index
	}
	return all
}

// writes reports whether a step of the segment updates a variable.
func (t *segment) writes() bool {
	return slices.ContainsFunc(t.steps, func(s *step) bool { return len(s.op.write) > 0 })
}

// findOnDevice finds the values that must be on the device.
func (l *lowering) findOnDevice() {
	for _, s := range l.p.steps {
		if s.operation == nil {
			continue
		}
		for _, in := range s.op.in {
			l.p.onDevice[storageOf(in).value()] = true
		}
	}
	for _, f := range l.p.fetched {
		l.p.onDevice[storageOf(f).value()] = true
	}
}

// transfers finds what host segments must copy, given what the host already has when they run.
type transfers struct {
	l       *lowering
	has     map[*value]bool  // the host has the value
	current map[*shadow]bool // whether the variable's copy is current; false means outdated
}

func (t *transfers) visit(segments []segment) {
	for i := range segments {
		at := &segments[i]
		for _, s := range at.steps {
			if at.onHost {
				t.onHost(at, s)
				continue
			}
			for _, v := range s.op.write {
				if x := t.l.host.shadows[v]; x != nil && t.current[x] {
					t.current[x] = false
				}
			}
			if t.l.p.options.CheckNumerics { // see acceleratorExecutor.checkStep
				t.mirror(s)
			}
		}
	}
}

// onHost finds the copies that a step on the host needs, and its results that the device needs.
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
		if t.l.p.onDevice[v] {
			at.stores = append(at.stores, v)
		}
	}
}

// mirror gives the results of a step and the variables that it reads memory on the host as well.
func (t *transfers) mirror(s *step) {
	for _, in := range s.op.in {
		in = storageOf(in)
		switch v := in.value(); {
		case in.op.reads == nil:
		case v.home == inVariable:
			x := t.l.host.shadow(in.op.reads)
			if _, known := t.current[x]; !known {
				t.current[x] = false
			}
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
