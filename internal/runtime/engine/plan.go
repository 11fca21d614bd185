package engine

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/internal/runtime/device"
)

const (
	persistLimit = 64 << 10      // bytes up to which a value is worth keeping from run to run
	forever      = math.MaxInt32 // last use of a value that is fetched
)

// assignFrequencies says for every step how often it must run: values that depend on constants alone, or on the batch size
// besides, are kept while they are small.
func assignFrequencies(steps []*step, capacity int) {
	for _, s := range steps {
		o := s.op
		o.frequency = perCompile
		for i, v := range s.in {
			if !o.def.shape {
				o.frequency = max(o.frequency, frequencyOf(o.in[i].op))
			}
			if o.def.shape && batched(v) {
				o.frequency = max(o.frequency, perBatchSize)
			}
		}
		for _, v := range s.out {
			if batched(v) {
				o.frequency = max(o.frequency, perBatchSize)
			}
			if v.bytesAt(capacity) > persistLimit {
				o.frequency = perRun
			}
		}
		if len(o.write) > 0 || o.reads != nil || len(s.out) == 0 || o.own {
			o.frequency = perRun
		}
		if o.frequency == perRun {
			continue
		}
		for _, v := range s.out {
			v.home = inPersist
		}
	}
}

// frequencyOf follows ops that have no step of their own.
func frequencyOf(o *op) frequency {
	switch {
	case o.phantom:
		return perCompile
	case o.feed >= 0 || o.reads != nil:
		return perRun
	case o.def.alias:
		return frequencyOf(o.in[0].op)
	}
	return o.frequency
}

func batched(v *value) bool {
	for _, d := range v.typ.Shape.Dims {
		if d.PerBatch != 0 {
			return true
		}
	}
	return false
}

// splitByFrequency sorts the steps by how often they run, keeping their order.
func (p *Program) splitByFrequency() {
	for _, s := range p.steps {
		p.byFrequency[s.op.frequency] = append(p.byFrequency[s.op.frequency], s)
	}
}

// plan gives every value its storage at the capacity.
func (p *Program) plan(capacity int) error {
	if err := p.checkSizes(capacity); err != nil {
		return err
	}
	if p.lowered != nil && p.lowered.enqueued { // runs that use what is planned anew
		if err := p.idle(); err != nil {
			return err
		}
	}
	size, values := p.layout(capacity)
	arena, err := p.alloc(size)
	if err != nil {
		p.stay()
		return fmt.Errorf("plan for a batch of %d: %w", capacity, err)
	}
	mapped, ok := arena.(device.Mapped)
	if !ok && p.lowered == nil {
		return fmt.Errorf("device %s: its memory is not addressable by Go kernels", p.dev.Kind())
	}
	if p.arena != nil {
		if err := p.arena.Free(); err != nil {
			return err
		}
	}
	p.arena, p.capacity, p.batch, p.fresh = arena, capacity, 0, true
	if p.lowered != nil {
		if err := p.lowered.planHost(); err != nil {
			p.capacity = 0
			return fmt.Errorf("plan for a batch of %d: %w", capacity, err)
		}
		p.lowered.locate()
	} else {
		locate(values, mapped.Map())
	}
	p.shareStorage()
	return nil
}

// layout gives the values of batches of up to so many rows their places in an arena of the size that it returns.
func (p *Program) layout(capacity int) (size int, values []*value) {
	p.groupSteps(capacity)
	planned, persist := p.lifetimes(capacity)
	align := p.alignment()
	size = place(planned, align)
	for _, v := range persist {
		v.off = size
		size += alignUp(v.size, align)
	}
	return size, append(planned, persist...)
}

// locate points values at their places in an arena that Go kernels can address.
func locate(values []*value, arena []byte) {
	for _, v := range values {
		v.mem = arena[v.off : v.off+v.size : v.off+v.size]
	}
}

// stay lays the values out again in the arena that the program has, after a larger one was not to be had. Where that is not
// possible, the next run plans first.
func (p *Program) stay() {
	capacity := p.capacity
	p.capacity, p.batch = 0, 0
	if p.lowered != nil || p.arena == nil || capacity == 0 {
		return
	}
	mapped, ok := p.arena.(device.Mapped)
	if !ok {
		return
	}
	size, values := p.layout(capacity)
	if size > p.arena.Len() {
		return
	}
	p.capacity, p.fresh = capacity, true
	locate(values, mapped.Map())
	p.shareStorage()
}

// alloc allocates memory for values, where that is allowed.
func (p *Program) alloc(size int) (device.Buffer, error) {
	if p.allow != nil {
		if err := p.allow(size); err != nil {
			return nil, err
		}
	}
	return p.dev.Alloc(size)
}

// allowAll ends the asking for memory.
func (p *Program) allowAll() { p.allow = nil }

// acceleratorAlignment is what the wide loads of an accelerator want.
const acceleratorAlignment = 256

// alignment returns the alignment of values in the arena.
func (p *Program) alignment() int {
	if p.lowered != nil {
		return acceleratorAlignment
	}
	return device.Alignment
}

// maxValue is a size that no value reaches, in bytes, so that sums of sizes do not overflow.
const maxValue = 1 << 46

// checkSizes refuses values of sizes that no machine holds.
func (p *Program) checkSizes(capacity int) error {
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

// shareStorage points values at the storage of variables and of their bases. Views of feeds wait for each run's tensor.
func (p *Program) shareStorage() {
	p.feedViews = p.feedViews[:0]
	for _, o := range p.ops {
		for _, v := range o.out {
			base := v.base()
			if base.home == inVariable && base == v {
				v.mem = p.readMemory(o.reads)
			}
			if base.home == inFeed && base != v {
				p.feedViews = append(p.feedViews, v)
			}
			v.mem = base.mem
		}
	}
}

// readMemory returns where Go kernels read a variable.
func (p *Program) readMemory(v *variable) []byte {
	if p.lowered == nil {
		return v.memory()
	}
	if s := p.lowered.host.shadows[v]; s != nil {
		return s.copy.memory()
	}
	return nil
}

// memory returns the variable's storage where Go kernels can address it.
func (v *variable) memory() []byte {
	if m, ok := v.buf.(device.Mapped); ok {
		return m.Map()
	}
	return nil
}

// lifetimes finds when each base is made and last used, lets steps take over storage that dies in them, and returns
// the bases that need room in the arena: those planned by lifetime and those kept from run to run.
func (p *Program) lifetimes(capacity int) (planned, persist []*value) {
	p.unshare()
	run := p.allGroups()
	for i, t := range run {
		for _, s := range t.steps {
			for _, v := range s.out {
				v.def, v.last = i, i
			}
		}
	}
	for i, t := range run {
		for _, s := range t.steps {
			for _, v := range s.in {
				v.base().last = max(v.base().last, i)
			}
		}
	}
	for _, f := range p.fetched {
		f.value().base().last = forever
	}
	for i, t := range run {
		for _, s := range t.steps {
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
			case v.home == inArena || v.home == inFeed && p.uploads(v):
				planned = append(planned, v)
			case v.home == inPersist:
				persist = append(persist, v)
			}
		}
	}
	if p.lowered != nil {
		planned = append(planned, p.lowered.workspaces(capacity)...)
	}
	return planned, persist
}

// uploads reports whether a feed is copied to the device.
func (p *Program) uploads(feed *value) bool {
	if p.lowered != nil {
		return p.lowered.host.onDevice[feed]
	}
	return !p.hostFeeds()
}

// unshare undoes earlier take-overs, so that a plan for another capacity starts afresh.
func (p *Program) unshare() {
	for _, o := range p.ops {
		for _, v := range o.out {
			v.root, v.def, v.last = v, -1, -1
			if o.def.alias {
				v.root = o.in[0].value()
			}
		}
	}
}

// takeOver lets an output of a step of parallel group i live in the storage of an input that dies here.
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
	return !slices.ContainsFunc(t.steps, func(o *step) bool { return o != s && o.reads(from) })
}

// pointwise reports whether an accelerator reads each element of a step's operands before it writes that of the result.
func (s *step) pointwise() bool { return s.op.fusion != nil || s.op.def.elemental != nil }

// reads reports whether an input lies in a base's storage.
func (s *step) reads(base *value) bool {
	return slices.ContainsFunc(s.in, func(v *value) bool { return v.base() == base })
}

// allGroups returns those of all phases in the order of their running.
func (p *Program) allGroups() []parallelGroup {
	var all []parallelGroup
	for _, r := range p.phases {
		all = append(all, r.groups...)
	}
	return all
}

// place gives planned roots offsets such that those alive at the same time do not overlap: largest first, each into
// the smallest gap that fits ("greedy by size", Pisarchyk and Lee 2020). It returns the total size.
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

// gap returns the offset of the smallest hole between values alive with v, or of the end.
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
