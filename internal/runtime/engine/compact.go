package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// compactFrom is the smallest variable whose memory is worth giving back, in bytes.
const compactFrom = 64 << 10

// Compact gives the memory of variables back to the system if programs only read them in a packed form that is exact to the
// last bit. Later reads of such a variable restore the value from the packed form. Addresses stay the same, since programs
// are bound to them. Compact does nothing while programs run or variables are read.
func (v *Variables) Compact() {
	if !v.mu.TryLock() { // waiting would hold up new runs until the longest one ends
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

// exact reports whether weights of the key have the variable's exact values.
func (k weightsKey) exact() bool {
	return k.as == tensor.Invalid || k.w != nil && k.w.dtype == k.as
}

// need restores the memory of variables that Compact has given away. It is called before anything reads them.
func (s *sharedWeights) need(all ...*variable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range all {
		s.unpack(x)
	}
}

// pin keeps Compact from giving away the memory of variables, until unpin.
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

// unpack restores a variable's memory; mu is held.
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

// settle notes that a variable's memory has its value, and drops the packed form if no program uses it; mu is held.
func (s *sharedWeights) settle(x *variable) {
	u := x.packed
	x.packed = nil
	if u.users == 0 {
		delete(s.all, u.key)
	}
}

// copyPacked copies a variable's value out of its packed form. It returns false if the variable's memory has the value.
func (s *sharedWeights) copyPacked(dst []byte, x *variable) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.packed == nil {
		return false
	}
	x.packed.weights.unpack(dst)
	return true
}

// givenBack returns the bytes of variables that Compact has given away.
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

// directReads returns the variables whose memory steps read or update. The other variables are read only in packed form.
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
