package engine

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// forever is the last use of a value that is fetched.
const forever = math.MaxInt32

// layout places the values of batches of up to capacity rows, and the operations' workspaces, in one arena. It returns the
// arena's size and the values.
func (p *plan) layout(capacity, align int, workspaces []*value) (size int, values []*value) {
	p.groupSteps(capacity)
	planned, persist := p.lifetimes(capacity)
	planned = append(planned, workspaces...)
	size = place(planned, align)
	for _, v := range persist {
		v.off = size
		size += alignUp(v.size, align)
	}
	return size, append(planned, persist...)
}

// maxValue is a size that no value reaches, in bytes, so that sums of sizes do not overflow.
const maxValue = 1 << 46

// checkSizes refuses values too large for any machine.
func (p *plan) checkSizes(capacity int) error {
	for _, o := range p.ops {
		for i, v := range o.out {
			over, n := uint64(0), uint64(max(v.elem, 1))
			for _, d := range v.typ.Shape.Dims {
				over, n = bits.Mul64(n, uint64(max(d.At(capacity), 0)))
				if over > 0 || n > maxValue || d.Const > maxValue || d.PerBatch > 0 && capacity > maxValue/d.PerBatch {
					return fmt.Errorf("node %s (%s): output %d of type %v and shape %v does not fit into memory for a batch of %d",
						o.node.Name, o.node.Op, i, v.typ.DType, v.typ.Shape, capacity)
				}
			}
		}
	}
	return nil
}

// lifetimes finds when each base is made and last used, and lets steps take over storage that dies in them. It returns
// the bases that need room in the arena: some planned by lifetime, some kept from run to run.
func (p *plan) lifetimes(capacity int) (planned, persist []*value) {
	p.unshare()
	run := p.allGroups()
	for i, t := range run {
		for _, s := range t {
			for _, v := range s.out {
				v.def, v.last = i, i
			}
		}
	}
	for i, t := range run {
		for _, s := range t {
			for _, v := range s.in {
				v.base().last = max(v.base().last, i)
			}
		}
	}
	for _, f := range p.fetched {
		f.value().base().last = forever
	}
	for i, t := range run {
		for _, s := range t {
			s.takeOver(i, t)
		}
	}
	for _, o := range p.ops {
		for _, v := range o.out {
			if v.root != v {
				continue
			}
			v.size = v.bytesAt(capacity)
			switch {
			case v.home == inArena || v.home == inFeed && p.onDevice[v]:
				planned = append(planned, v)
			case v.home == inPersist:
				persist = append(persist, v)
			}
		}
	}
	return planned, persist
}

// unshare undoes earlier take-overs, so that a plan for another capacity starts afresh.
func (p *plan) unshare() {
	for _, o := range p.ops {
		for _, v := range o.out {
			v.root, v.def, v.last = v, -1, -1
			if o.def.alias {
				v.root = o.in[0].value()
			}
		}
	}
}

// takeOver lets an output of a step of parallel group i use the storage of an input whose life ends here.
func (s *step) takeOver(i int, t parallelGroup) {
	if s.operation != nil && !s.pointwise() {
		return
	}
	for _, k := range s.op.def.inplace {
		if k < len(s.in) && s.canTake(i, k, t) {
			from, out := s.in[k].base(), s.out[s.op.def.into]
			from.last = max(from.last, out.last)
			out.root = from
			return
		}
	}
}

func (s *step) canTake(i, k int, t parallelGroup) bool {
	in, out := s.in[k], s.out[s.op.def.into]
	from := in.base()
	if s.operation != nil && in.typ.DType != out.typ.DType {
		return false
	}
	if from.home != inArena || from.last != i || out.root != out || out.home != inArena ||
		in.elem != out.elem || !in.typ.Shape.Equal(out.typ.Shape) {
		return false
	}
	for j, other := range s.in {
		if other.base() == from && j != k && (s.op.def.alone || !other.typ.Shape.Equal(out.typ.Shape)) {
			return false
		}
	}
	return !slices.ContainsFunc(t, func(o *step) bool { return o != s && o.reads(from) })
}

// pointwise reports whether an accelerator reads each element of a step's operands before it writes the result's element.
func (s *step) pointwise() bool { return s.op.fusion != nil || s.op.def.elemental != nil }

// reads reports whether an input lies in a base's storage.
func (s *step) reads(base *value) bool {
	return slices.ContainsFunc(s.in, func(v *value) bool { return v.base() == base })
}

// allGroups returns the groups of all phases in the order in which they run.
func (p *plan) allGroups() []parallelGroup {
	var all []parallelGroup
	for _, r := range p.phases {
		all = append(all, r.groups...)
	}
	return all
}

// place gives planned roots offsets so that roots alive at the same time do not overlap: largest first, each into the
// smallest gap that fits ("greedy by size", Pisarchyk and Lee 2020). It returns the total size.
func place(roots []*value, align int) int {
	bySize := slices.Clone(roots)
	sort.SliceStable(bySize, func(i, j int) bool { return bySize[i].size > bySize[j].size })
	var placed []*value // by offset
	total := 0
	for _, v := range bySize {
		v.off = gap(v, placed, align)
		total = max(total, v.off+alignUp(v.size, align))
		at := sort.Search(len(placed), func(i int) bool { return placed[i].off >= v.off })
		placed = slices.Insert(placed, at, v)
	}
	return total
}

// gap returns the offset of the smallest gap for v between values alive with it, or else their end.
func gap(v *value, placed []*value, align int) int {
	best, bestSize, end := -1, math.MaxInt, 0
	for _, o := range placed {
		if o.last < v.def || v.last < o.def || o.size == 0 {
			continue
		}
		if hole := o.off - end; hole >= alignUp(v.size, align) && hole < bestSize {
			best, bestSize = end, hole
		}
		end = max(end, o.off+alignUp(o.size, align))
	}
	if best >= 0 {
		return best
	}
	return end
}

func alignUp(n, align int) int { return (n + align - 1) / align * align }
