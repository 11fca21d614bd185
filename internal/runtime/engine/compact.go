package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// compactFrom is the size from which a variable's memory is worth giving back, in bytes.
const compactFrom = 64 << 10

// Compact gives back to the system the memory of variables that programs read in a packed form alone, where that form has
// the value to the last bit. Whatever reads such a variable later gets the value out of the packed form. Addresses stay
// as they are, since programs are bound to them. While programs run or variables are read it does nothing.
func (v *Variables) Compact() {
	if !v.mu.TryLock() { // to wait for it would keep new runs waiting behind the longest one
		return
	}
	defer v.mu.Unlock()
	v.inFlight.wait(nil, true)
	s := &v.weights
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, u := range s.all {
		x := key.w
		if x == nil || x.packed != nil || x.readers > 0 || x.buf.Len() < compactFrom || !key.exact() || !u.weights.holds(x) {
			continue
		}
		if b, ok := x.buf.(device.Discarder); ok && b.Discard() {
			x.packed = u
		}
	}
}

// exact reports whether weights of the key are the variable's values and nothing else.
func (k weightsKey) exact() bool {
	return k.as == tensor.Invalid || k.w != nil && k.w.dtype == k.as
}

// need brings the memory of variables back that Compact has given away. It is called before something reads them.
func (s *sharedWeights) need(all ...*variable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range all {
		s.unpack(x)
	}
}

// pin keeps the memory of variables from Compact, until unpin.
func (s *sharedWeights) pin(all []*variable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range all {
		s.unpack(x)
		x.readers++
	}
}

func (s *sharedWeights) unpin(all []*variable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range all {
		x.readers--
	}
}

// unpack brings a variable's memory back; mu is held.
func (s *sharedWeights) unpack(x *variable) {
	if x.packed != nil {
		x.packed.weights.unpack(x.memory())
		s.settle(x)
	}
}

// overwritten notes that a variable's memory has a new value.
func (s *sharedWeights) overwritten(x *variable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.packed != nil {
		s.settle(x)
	}
}

// settle notes that a variable's memory has its value, and drops the packed form where that was all that it was kept for;
// mu is held.
func (s *sharedWeights) settle(x *variable) {
	u := x.packed
	x.packed = nil
	if u.users == 0 {
		delete(s.all, u.key)
	}
}

// copyPacked copies a variable's value out of its packed form, false where the variable's memory has it.
func (s *sharedWeights) copyPacked(dst []byte, x *variable) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.packed == nil {
		return false
	}
	x.packed.weights.unpack(dst)
	return true
}

// givenBack returns how many bytes of variables Compact has given away.
func (s *sharedWeights) givenBack() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, u := range s.all {
		if key.w != nil && key.w.packed == u {
			n += int64(key.w.buf.Len())
		}
	}
	return n
}

// directReads returns the variables whose memory steps read, those of updates included. The other variables are read in
// a packed form alone.
func (p *plan) directReads() []*variable {
	all := map[*variable]bool{}
	note := func(from port) {
		if o := storageOf(from).op; o.reads != nil {
			all[o.reads] = true
		}
	}
	for _, s := range p.steps {
		if s.op.reads != nil {
			all[s.op.reads] = true
		}
		for i, from := range s.op.in {
			if !slices.Contains(s.packed, i) {
				note(from)
			}
		}
	}
	for _, f := range p.fetched {
		note(f)
	}
	for x := range p.written {
		all[x] = true
	}
	list := make([]*variable, 0, len(all))
	for x := range all {
		list = append(list, x)
	}
	return list
}
