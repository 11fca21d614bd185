package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// parallelGroup is steps that do not depend on each other. A single step uses all workers. Several steps are each too small
// for that, and every worker takes some of them.
type parallelGroup []*step

// The time of a step by itself is a rough estimate in nanoseconds: only a factor of several matters.
const (
	fixedNanos   = 300 // of any step
	flopsPerNano = 100 // of one worker
	bytesPerNano = 30  // of one worker, in its caches
	nanosPerRow  = 20  // of a table, out of the caches
	nanosPerNear = 2   // of a table in them
	nearTable    = 1 << 20
	handOver     = 1000   // to start the workers, and to tell the caller that they are done
	smallStep    = 20_000 // a longer step is better split over the workers
	maxWaiting   = 60_000 // total of waiting small steps, whose operands must be kept meanwhile
	minGain      = 2000   // the least gain worth a parallel group
)

// groupBuilder puts the steps of a range into parallel groups. Small steps wait until another step needs one of them, so that
// there are several to choose from.
type groupBuilder struct {
	threads float64
	every   bool // form all possible parallel groups, whether or not they pay
	groups  []parallelGroup
	pays    bool
	waiting []*step
	work    float64 // total time of waiting
}

// groupSteps divides the steps of all phases into parallel groups, for batches of the given capacity.
func (p *plan) groupSteps(capacity int) {
	a := groupBuilder{threads: float64(kernels.Threads()), every: p.options.groupAll}
	steps := p.byFrequency[perRun]
	alone := p.serial || (a.threads == 1 && !a.every)
	for i := range p.phases {
		r := &p.phases[i]
		r.groups = nil
		// Updates stay after all steps that can be cancelled.
		first := r.from
		for first < r.to && len(steps[first].op.write) == 0 {
			first++
		}
		for _, part := range [][]*step{steps[r.from:first], steps[first:r.to]} {
			if alone {
				r.groups = append(r.groups, singly(part)...)
				continue
			}
			r.groups = append(r.groups, a.build(part, capacity)...)
		}
	}
}

// singly makes a parallel group of each step.
func singly(steps []*step) []parallelGroup {
	groups := make([]parallelGroup, len(steps))
	for i := range steps {
		groups[i] = steps[i : i+1 : i+1]
	}
	return groups
}

func (a *groupBuilder) build(steps []*step, capacity int) []parallelGroup {
	a.groups, a.pays = nil, false
	for _, s := range steps {
		s.estimate(capacity)
		if s.alone <= smallStep {
			a.wait(s)
			continue
		}
		if slices.ContainsFunc(s.needs, a.waits) {
			a.flush()
		}
		a.groups = append(a.groups, singly([]*step{s})...)
	}
	a.flush()
	if !a.pays {
		return singly(steps)
	}
	return a.groups
}

// estimate sets the time that the step takes on one worker.
func (s *step) estimate(batch int) {
	flops, bytes := Cost(s.op.asNode(), batch)
	s.alone = fixedNanos + float64(flops)/flopsPerNano + float64(bytes)/bytesPerNano
	if looksUp(s.op.node.Op) {
		each := float64(nanosPerNear)
		if s.tableBytes(batch) > nearTable {
			each = nanosPerRow
		}
		for _, v := range s.in {
			if v.typ.DType == tensor.Int32 || v.typ.DType == tensor.Int64 {
				s.alone += each * float64(v.typ.Shape.ElementsAt(batch))
			}
		}
	}
}

// tableBytes is the size of the largest value whose rows the step may look up.
func (s *step) tableBytes(batch int) int64 {
	most := int64(0)
	for _, v := range s.op.write {
		most = max(most, typeBytes(&graph.Type{DType: v.dtype, Shape: graph.ShapeOf(v.shape...)}, batch))
	}
	for _, values := range [][]*value{s.in, s.out} {
		for _, v := range values {
			if v.typ.Shape.Known() {
				most = max(most, typeBytes(&v.typ, batch))
			}
		}
	}
	return most
}

// looksUp reports whether an op reads or writes rows at random places of memory, named by its integers.
func looksUp(op string) bool {
	return slices.ContainsFunc([]string{"Gather", "Scatter", "Sparse", "Ragged", "Segment"}, func(s string) bool { return strings.Contains(op, s) })
}

func (a *groupBuilder) waits(s *step) bool { return s.level > 0 }

// wait holds a small step back. Its level is the length of the longest chain of waiting steps that ends with it.
func (a *groupBuilder) wait(s *step) {
	s.level = 1
	for _, n := range s.needs {
		s.level = max(s.level, n.level+1)
	}
	a.waiting = append(a.waiting, s)
	if a.work += s.alone; a.work > maxWaiting {
		a.flush()
	}
}

// flush puts the waiting steps into parallel groups, level by level: steps of one level do not depend on each other.
func (a *groupBuilder) flush() {
	slices.SortStableFunc(a.waiting, func(x, y *step) int { return cmp.Compare(x.level, y.level) })
	for from := 0; from < len(a.waiting); {
		to := from
		for to < len(a.waiting) && a.waiting[to].level == a.waiting[from].level {
			to++
		}
		a.form(slices.Clone(a.waiting[from:to]))
		from = to
	}
	for _, s := range a.waiting {
		s.level = 0
	}
	a.waiting, a.work = a.waiting[:0], 0
}

// form makes a parallel group of those independent steps for which it pays most; the longer steps run by themselves.
func (a *groupBuilder) form(steps []*step) {
	slices.SortStableFunc(steps, func(x, y *step) int { return cmp.Compare(y.alone, x.alone) })
	best, gain := len(steps), float64(minGain)
	for i := range len(steps) - 1 {
		if g := a.gain(steps[i:]); g >= gain || a.every {
			best, gain = i, g
			if a.every {
				break
			}
		}
	}
	a.groups = append(a.groups, singly(steps[:best])...)
	if best < len(steps) {
		a.pays = true
		a.groups = append(a.groups, steps[best:])
	}
}

// gain estimates the time that steps save by running at the same time instead of one after the other, each split over the
// workers where that is faster. The first step is the longest.
func (a *groupBuilder) gain(steps []*step) float64 {
	sum, serial := 0.0, 0.0
	for _, s := range steps {
		sum += s.alone
		serial += min(s.alone, s.alone/a.threads+handOver)
	}
	return serial - max(steps[0].alone, sum/a.threads) - handOver
}

// connectSteps records for every step of a run which steps must be done before it.
func (p *plan) connectSteps() {
	steps := p.byFrequency[perRun]
	made := make(map[*op][]*step, len(p.ops)) // for each op, the last steps of its computation
	of := make(map[*op]*step, len(steps))
	for i, s := range steps {
		s.index, of[s.op] = i, s
	}
	latest := map[*variable]*step{}
	for _, o := range p.ops { // dependencies come first
		var needs []*step
		for _, d := range dependencies(o) {
			needs = append(needs, made[d]...)
		}
		slices.SortFunc(needs, func(x, y *step) int { return cmp.Compare(x.index, y.index) })
		needs = slices.Compact(needs)
		s := of[o]
		if s == nil {
			made[o] = needs
			continue
		}
		for _, v := range o.write { // in the graph's order
			if w := latest[v]; w != nil && w != s {
				needs = append(needs, w)
			}
			latest[v] = s
		}
		s.needs, made[o] = needs, []*step{s}
	}
}
