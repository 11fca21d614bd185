package engine

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// weights are the right operand of a product, or a filter, in the form that the kernels read, with a batch
// normalization folded in.
type weights[T kernels.Float] struct {
	mu     sync.Mutex
	made   atomic.Uint64 // of which versions of the variables, plus 1
	packed *kernels.PackedB[T]
	bias   []T // nil without normalization
}

// memory returns how many bytes the weights hold.
func (w *weights[T]) memory() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.packed == nil {
		return 0
	}
	return w.packed.Memory()
}

// packed are weights of any type.
type packed interface{ memory() int64 }

// weightsKey says what weights are made of. Constants have no variable.
type weightsKey struct {
	w, bias, scale, offset, mean, variance *variable
	epsilon                                float64
	transposed                             bool
	level                                  kernels.Level
}

// sharedWeights are packed variables, used by all programs that only read these.
type sharedWeights struct {
	mu  sync.Mutex
	all map[weightsKey]*weightsUse
}

type weightsUse struct {
	weights packed // *weights[T] of the variables' type
	users   int
}

// take returns the weights of a key, made by fresh for the first user.
func (s *sharedWeights) acquire(key weightsKey, fresh func() packed) packed {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.all[key]
	if u == nil {
		u = &weightsUse{weights: fresh()}
		s.all[key] = u
	}
	u.users++
	return u.weights
}

// memory returns how many bytes all of them hold.
func (s *sharedWeights) memory() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.all {
		n += u.weights.memory()
	}
	return n
}

// release gives back what take returned.
func (s *sharedWeights) release(key weightsKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.all[key]
	if u.users--; u.users == 0 {
		delete(s.all, key)
	}
}

// packer keeps the weights of one op up to date.
type packer[T kernels.Float] struct {
	*weights[T]
	sources []*variable
	w       *value
	bias    *value // folded into the normalization
	norm    *norm
	trans   bool
}

// packWeights returns a packer of input 1 and of the normalization in the epilogue, nil where these are not steady.
func packWeights[T kernels.Float](c *binding, t *epilogue, trans bool) *packer[T] {
	p := &packer[T]{w: c.in[1], trans: trans, norm: t.norm}
	key := weightsKey{transposed: trans, level: kernels.ActiveLevel()}
	parts := []**variable{&key.w}
	inputs := c.op.in[1:2]
	if t.norm != nil {
		key.epsilon = t.norm.epsilon
		parts = append(parts, &key.scale, &key.offset, &key.mean, &key.variance)
		if t.bias != nil {
			p.bias = t.bias
			parts = append([]**variable{&key.w, &key.bias}, parts[1:]...)
		}
		inputs = c.op.in[1 : 1+len(parts)]
	}
	constants := false
	for i, in := range inputs {
		v, ok := steady(in, c.changing)
		if !ok {
			return nil
		}
		if constants = constants || v == nil; v != nil {
			*parts[i] = v
			p.sources = append(p.sources, v)
		}
	}
	if constants { // whose memory is the program's
		p.weights = &weights[T]{}
		c.own = append(c.own, p.weights)
		return p
	}
	p.weights = c.shared.acquire(key, func() packed { return &weights[T]{} }).(*weights[T])
	c.weights = append(c.weights, key)
	return p
}

// steady reports whether a value is the same during all of a run and between updates of a variable, which it returns,
// nil for a constant.
func steady(in port, written map[*variable]bool) (*variable, bool) {
	o := in.op
	for o.def.alias && o.node.Op == "Identity" {
		o = o.in[0].op
	}
	switch {
	case o.feed >= 0 || o.phantom:
		return nil, false
	case o.node.Op == "Const":
		return nil, true
	}
	return o.reads, o.reads != nil && !written[o.reads]
}

// current returns the weights as the variables are now. No run changes them while another one reads them, so that
// theirs are not made again under a kernel.
func (p *packer[T]) current() (*kernels.PackedB[T], []T) {
	version := uint64(1)
	for _, v := range p.sources {
		version += v.version
	}
	w := p.weights
	if w.made.Load() != version {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.made.Load() != version {
			p.pack()
			w.made.Store(version)
		}
	}
	return w.packed, w.bias
}

// pack makes the weights: columns times scale/sqrt(variance+epsilon) where a normalization follows.
func (p *packer[T]) pack() {
	w, dims := view[T](p.w), p.w.dims
	n := dims[len(dims)-1]
	k, ld := len(w)/max(n, 1), n
	if p.trans {
		k, n = n, k
	}
	p.weights.bias = nil
	if p.norm != nil {
		var scale []T
		scale, p.weights.bias = p.fold(n)
		scaled := make([]T, len(w))
		kernels.ScaleShift(scaled, w, scale, make([]T, n), false)
		w = scaled
	}
	p.packed = kernels.PackB(w, ld, k, n, p.trans)
}

// fold returns the factor and the summand of each of n columns.
func (p *packer[T]) fold(n int) (scale, shift []T) {
	scale, shift = make([]T, n), make([]T, n)
	gamma, beta, mean, variance := view[T](p.norm.scale), view[T](p.norm.offset), view[T](p.norm.mean), view[T](p.norm.variance)
	for i := range n {
		s, b := float64(gamma[i])/math.Sqrt(float64(variance[i])+p.norm.epsilon), 0.0
		if p.bias != nil {
			b = float64(view[T](p.bias)[i])
		}
		scale[i], shift[i] = T(s), T(float64(beta[i])+(b-float64(mean[i]))*s)
	}
	return scale, shift
}
