package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// weights are the right operand of a product, or a filter, packed for the kernels.
type weights[T kernels.Float] struct {
	mu     sync.Mutex
	made   atomic.Uint64           // the version of the variable that was packed, plus 1
	packed *kernels.PackedB[T]     // for a product
	forms  *kernels.FilterForms[T] // for a convolution
	as     tensor.DType            // the 16-bit type that the weights are read as; Invalid for their own type
}

// holds reports whether the weights are packed from a variable's current value, in a form from which it can be restored.
func (w *weights[T]) holds(x *variable) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made.Load() == 1+x.version && (w.packed != nil || w.forms != nil && w.forms.Packed() != nil)
}

// unpack restores the variable's value from the weights.
func (w *weights[T]) unpack(raw []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := w.packed
	if from == nil {
		from = w.forms.Packed()
	}
	if h, ok := kernels.HalfOf(w.as); ok {
		unpackNarrow(h, from, raw)
		return
	}
	var z T
	from.Unpack(unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), len(raw)/int(unsafe.Sizeof(z))))
}

// memory returns the bytes of the weights.
func (w *weights[T]) memory() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.packed != nil:
		return w.packed.Memory()
	case w.forms != nil:
		return w.forms.Memory()
	}
	return 0
}

// packed are weights of any type.
type packed interface {
	memory() int64
	holds(x *variable) bool
	unpack(raw []byte)
}

// weightsKey identifies packed weights.
type weightsKey struct {
	w          *variable
	filter     bool // of a convolution
	transposed bool
	columns    int          // columns of w as the op sees it, maybe in another shape
	as         tensor.DType // see weights
	exactly    bool         // the other operand is exact in that type, too
	level      kernels.Level
}

// sharedWeights are packed variables, shared by all programs that only read them.
type sharedWeights struct {
	mu  sync.Mutex
	all map[weightsKey]*weightsUse
}

type weightsUse struct {
	key     weightsKey
	weights packed // *weights[T] of the variables' type
	users   int
}

// acquire returns the weights of a key. For the first user, fresh makes them.
func (s *sharedWeights) acquire(key weightsKey, fresh func() packed) packed {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.all[key]
	if u == nil {
		u = &weightsUse{key: key, weights: fresh()}
		s.all[key] = u
	}
	u.users++
	return u.weights
}

// memory returns the bytes of all weights.
func (s *sharedWeights) memory() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.all {
		n += u.weights.memory()
	}
	return n
}

// release releases the weights that acquire returned for the key.
func (s *sharedWeights) release(key weightsKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.all[key]
	u.users--
	if kept := key.w != nil && key.w.packed == u; u.users == 0 && !kept {
		delete(s.all, key)
	}
}

// packer keeps the weights of one op up to date.
type packer[T kernels.Float] struct {
	*weights[T]
	shared  *sharedWeights
	source  *variable // nil for a constant
	w       *value
	tail    *epilogue
	norm    *steadyNorm[T] // the epilogue's, or nil
	trans   bool
	exactly bool       // see weightsKey
	taps    func() []T // filter
}

// packWeights returns a packer for input 1 and the normalization in the epilogue, nil if these are not steady.
func packWeights[T kernels.Float](c *binding, t *epilogue, trans bool) *packer[T] {
	v, ok := steady(c.op.in[1], c.changing)
	if !ok || !columnsKnown(c.in[1].typ.Shape) {
		return nil
	}
	p := &packer[T]{shared: c.shared, source: v, w: c.in[1], tail: t, trans: trans}
	if t.norm != nil {
		if p.norm = newSteadyNorm[T](c, t); p.norm == nil {
			return nil
		}
	}
	p.taps = func() []T { // may run later, for another form, when Compact may have given the variable's memory away
		p.need()
		return p.values()
	}
	as, _ := asWeights(c.node)
	if v == nil { // a constant belongs to the program
		p.weights = &weights[T]{as: as}
		c.own = append(c.own, p.weights)
		return p
	}
	p.exactly = as != tensor.Invalid && c.node.Attrs[OperandsType] == HalfType(as)
	key := weightsKey{w: v, filter: p.w.typ.Shape.Rank() == 4, transposed: trans, columns: weightColumns(p.w), as: as, exactly: p.exactly, level: kernels.ActiveLevel()}
	p.weights = c.shared.acquire(key, func() packed { return &weights[T]{as: as} }).(*weights[T])
	c.weights = append(c.weights, key)
	if key.exact() {
		c.packed = append(c.packed, 1)
	}
	return p
}

// steady reports whether a value stays the same during a run and until a variable is updated. It returns the variable, nil
// for a constant.
func steady(in port, written map[*variable]bool) (*variable, bool) {
	o := in.op
	for o.def.alias && len(o.in) > 0 && o.feed < 0 {
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

// operand returns the weights as the right operand of a product.
func (p *packer[T]) operand() *kernels.PackedB[T] {
	p.refresh(func() {
		k, n := p.matrix()
		ld := n
		if p.trans {
			k, n = n, k
		}
		if h, ok := kernels.HalfOf(p.as); ok {
			p.weights.packed = p.packHalves(h, ld, k, n)
			return
		}
		p.weights.packed = kernels.PackB(p.values(), ld, k, n, p.trans)
	})
	return p.weights.packed
}

// filter returns the weights as a filter.
func (p *packer[T]) filter(win kernels.Window) kernels.Filter[T] {
	p.refresh(func() { p.weights.forms = kernels.NewFilterForms[T](win) })
	return kernels.Filter[T]{Forms: p.weights.forms, Taps: p.taps}
}

// epilogue returns the kernels' form of the epilogue.
func (p *packer[T]) epilogue() kernels.Epilogue[T] {
	e := kernelEpilogue[T](p.tail)
	if p.norm != nil {
		e.Scale, e.Bias = p.norm.columns()
	}
	return e
}

// refresh calls make if the variable has changed. No run changes a variable while another run reads it, so weights never change
// while a kernel uses them.
func (p *packer[T]) refresh(make func()) {
	w, version := p.weights, versionOf(p.source)
	if w.made.Load() != version {
		p.need()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.made.Load() != version {
			make()
			w.made.Store(version)
		}
	}
}

// need restores the variable's memory if Compact has given it away.
func (p *packer[T]) need() {
	if p.source != nil {
		p.shared.need(p.source)
	}
}

// versionOf returns 1 plus the sum of the variables' versions. Constants are nil and have none.
func versionOf(all ...*variable) uint64 {
	version := uint64(1)
	for _, v := range all {
		if v != nil {
			version += v.version
		}
	}
	return version
}

// matrix returns the rows and columns of the weights as stored.
func (p *packer[T]) matrix() (rows, columns int) {
	n := weightColumns(p.w)
	return p.w.n / max(n, 1), n
}

// columnsKnown reports whether no batch changes the last dimension.
func columnsKnown(s graph.Shape) bool { return s.Rank() > 0 && s.Dims[s.Rank()-1].Static() }

// weightColumns returns the columns of weights as stored, which do not depend on the batch.
func weightColumns(w *value) int {
	dims := w.typ.Shape.Dims
	return dims[len(dims)-1].Const
}
