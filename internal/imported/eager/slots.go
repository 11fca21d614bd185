package eager

import (
	"context"
	"slices"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
)

// Step is a node in a sequence: its kernel, and the slots of its values.
type Step struct {
	Kernel  Kernel
	In, Out []int // -1: the result is dropped
	Done    []int // slots whose values no later step needs
	// Keeps says that inputs may outlive their slots: in variables, tables and other resources.
	Keeps bool
}

// Ends sets Done. needed is true for slots that later steps read or whose values are kept; Ends adds the step's own slots.
func (s *Step) Ends(needed []bool) {
	s.Done = nil
	for _, at := range slices.Concat(s.Out, s.In) {
		if at >= 0 && !needed[at] {
			needed[at] = true
			s.Done = append(s.Done, at)
		}
	}
}

// Keeps reports whether a node may keep its inputs. This includes nodes that call functions with effects.
func Keeps(n *graph.Node) bool {
	d := ops.Find(n.Op)
	return d == nil || d.State > ops.Reads
}

// Slots holds the values of the nodes of a run, or of a call of a function. A value that no later step needs is dropped, and its
// memory returned to the account that pays.
type Slots struct {
	Values []Value

	room    []Value // inputs and outputs of a step
	account *budget.Account
	paid    budget.Mark // what the account held after the last step
	memory  []*memory   // of each slot: nil if there is nothing to return
}

// memory returns to the account once nothing refers to it.
type memory struct {
	taken budget.Mark
	refs  int       // number of slots, and of other memory, that refer to it
	of    []*memory // other memory that the values share
}

// leastTracked is the smallest number of bytes taken by a step that is returned. Less is paid for until the run ends.
const leastTracked = leastPaid

// NewSlots returns n slots.
func NewSlots(n int) *Slots { return &Slots{Values: make([]Value, n)} }

// Begin makes the payer pay for what steps take from here on. Existing values stay paid for until the run ends. Lasting accounts find
// garbage by themselves.
func (s *Slots) Begin(p Payer) {
	clear(s.memory)
	s.account = p.Account
	if p.Lasting {
		s.account = nil
	}
	if s.account != nil && s.memory == nil {
		s.memory = make([]*memory, len(s.Values))
	}
	s.Settle()
}

// Clear forgets all values.
func (s *Slots) Clear() {
	clear(s.Values)
	clear(s.memory)
	clear(s.room)
	s.account = nil
}

// Settle keeps what was paid for since the last step paid for until the run ends.
func (s *Slots) Settle() { s.paid = s.account.Mark() }

// fewValues is enough for the inputs and outputs of most steps.
const fewValues = 8

// Run runs a step.
func (s *Slots) Run(ctx context.Context, env *Env, st *Step) error {
	n := len(st.In) + len(st.Out)
	if n > len(s.room) {
		s.room = make([]Value, max(n, fewValues))
	}
	in, out := s.room[:len(st.In)], s.room[len(st.In):n]
	for k, at := range st.In {
		in[k] = s.Values[at]
	}
	if err := st.Kernel(ctx, env, in, out); err != nil {
		return err
	}
	for k, at := range st.Out {
		if at >= 0 {
			s.Values[at] = out[k]
		}
	}
	if s.account != nil {
		s.note(st, in, out)
	}
	clear(s.room[:n])
	s.Forget(st.Done)
	return nil
}

// Put sets the value of a slot, whose memory is what was paid for since the last step.
func (s *Slots) Put(at int, v Value) {
	s.Values[at] = v
	if s.account != nil {
		s.refer(at, s.took())
	}
}

// Forget drops values that are not needed.
func (s *Slots) Forget(slots []int) {
	for _, at := range slots {
		s.Values[at] = Value{}
		if s.account != nil && s.memory[at] != nil {
			s.release(s.memory[at])
			s.memory[at] = nil
		}
	}
}

// took returns the memory paid for since the last step, or nil if it is small.
func (s *Slots) took() *memory {
	now := s.account.Mark()
	taken := now.Since(s.paid)
	s.paid = now
	if taken.Bytes() < leastTracked {
		return nil
	}
	return &memory{taken: taken}
}

// note records the memory that holds the results of a step: its own, or the memory of its inputs.
func (s *Slots) note(st *Step, in, out []Value) {
	if st.Keeps || holding(in) || holding(out) {
		s.Settle()
		for _, at := range st.In {
			if m := s.memory[at]; m != nil {
				m.refs++ // forever
			}
		}
		return
	}
	own := s.took()
	if own == nil && !s.tracked(st.In) {
		return
	}
	for k, at := range st.Out {
		if at >= 0 {
			s.refer(at, s.within(st, in, out[k].T, own))
		}
	}
	if own != nil && own.refs == 0 { // no result is in it
		s.release(own)
	}
}

// tracked reports whether one of the slots has memory to return.
func (s *Slots) tracked(slots []int) bool {
	return slices.ContainsFunc(slots, func(at int) bool { return s.memory[at] != nil })
}

// within returns the memory that holds a result.
func (s *Slots) within(st *Step, in []Value, t *tensor.Tensor, own *memory) *memory {
	var of []*memory
	for k, at := range st.In {
		if m := s.memory[at]; m != nil && shares(in[k].T, t) && !slices.Contains(of, m) {
			of = append(of, m)
		}
	}
	switch {
	case len(of) == 0:
		return own
	case own != nil:
		of = append(of, own)
	case len(of) == 1:
		return of[0]
	}
	for _, m := range of {
		m.refs++
	}
	return &memory{of: of}
}

// refer sets the memory of a slot's value.
func (s *Slots) refer(at int, m *memory) {
	s.memory[at] = m
	if m != nil {
		m.refs++
	}
}

// release drops one reference to m, and returns its memory after the last one.
func (s *Slots) release(m *memory) {
	if m == nil {
		return
	}
	if m.refs--; m.refs > 0 {
		return
	}
	if m.taken.Bytes() > 0 {
		s.paid = s.account.Return(m.taken)
	}
	for _, of := range m.of {
		s.release(of)
	}
}

// holding reports whether a value is a list or a resource that may hold other values.
func holding(values []Value) bool {
	return slices.ContainsFunc(values, func(v Value) bool {
		_, variable := v.Resource.(*Variable)
		return v.Resource != nil && !variable
	})
}

// shares reports whether a result may share memory with an input. Strings made from strings always may.
func shares(in, out *tensor.Tensor) bool {
	switch {
	case in == nil || out == nil:
		return false
	case in.DType == tensor.String && out.DType == tensor.String:
		return true
	}
	within := func(a []byte) bool { return anyOf(out, func(b []byte) bool { return overlap(a, b) }) }
	return anyOf(in, within)
}

// anyOf reports whether is returns true for one of a tensor's pieces of memory.
func anyOf(t *tensor.Tensor, is func(piece []byte) bool) bool {
	if t.DType == tensor.String {
		return slices.ContainsFunc(t.Strings, is)
	}
	return is(t.Bytes)
}

// overlap reports whether two pieces of memory, up to their capacities, overlap.
func overlap(a, b []byte) bool {
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return x < y+uintptr(cap(b)) && y < x+uintptr(cap(a))
}
