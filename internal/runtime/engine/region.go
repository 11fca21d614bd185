package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

const (
	regionBlock  = 2048    // elements that go through all ops of a fusion at a time, to stay in the L1 cache
	regionWindow = 96      // most places between the first and last op of a fusion, so that no result waits long for later ops
	regionCols   = 1 << 17 // most columns of a row: blocks hold whole rows, in memory outside of the plan
	regionVisits = 1 << 24 // bounds the time that forming the fusions of one program takes
)

// elemental is the kernel of an op that works element by element on floats. A binary kernel takes the op's inputs first and
// second, in this order.
type elemental struct {
	binary        bool
	op            int // a kernels.BinaryOp or kernels.UnaryOp
	first, second int
	broadcasts    bool // the op itself repeats a smaller operand
}

// fuseRegions merges ops that work element by element into fusions.
func fuseRegions(p *plan, ops []*op) []*op {
	ops = implicitBroadcasts(ops, p.fetched)
	ops = computeAgain(ops, p.fetched)
	g := &fusionBuilder{p: p, define: regionDef, window: regionWindow, visits: regionVisits}
	g.fits = func(r *fusion) bool { return fitsRegion(r) && !delays(p, r) }
	return g.fuse(ops)
}

// delays reports whether fusion r would delay a fetch that Options.OnFetch reports.
func delays(p *plan, r *fusion) bool {
	return p.options.OnFetch != nil && slices.ContainsFunc(p.fetched, func(f port) bool {
		return slices.Contains(r.ops[:len(r.ops)-1], transparent(f).op)
	})
}

// operandForm is how an operand of an elementwise op covers the result.
type operandForm uint8

const (
	unfit      operandForm = iota
	asWhole                // element by element
	asScalar               // one element
	eachColumn             // an element for each column, the same in each row
	eachRow                // an element for each row
)

// formOf returns how an operand of shape in covers a result of shape out. For eachColumn and eachRow, out counts as a matrix
// with cols columns.
func formOf(in, out graph.Shape) (form operandForm, cols int) {
	if !in.Known() || !out.Known() {
		return unfit, 0
	}
	if in.Equal(out) {
		return asWhole, 0
	}
	one := graph.Fixed(1)
	dims := in.Dims
	for len(dims) > 0 && dims[0] == one {
		dims = dims[1:]
	}
	shared := len(out.Dims) - len(dims)
	if len(dims) == 0 {
		return asScalar, 0
	}
	if shared > 0 && slices.Equal(dims, out.Dims[shared:]) {
		return columnsOf(eachColumn, out.Dims[shared:])
	}
	last := len(in.Dims)
	for last > 0 && in.Dims[last-1] == one {
		last--
	}
	if len(in.Dims) == len(out.Dims) && slices.Equal(in.Dims[:last], out.Dims[:last]) {
		return columnsOf(eachRow, out.Dims[last:])
	}
	return unfit, 0
}

func columnsOf(f operandForm, dims []graph.Dim) (operandForm, int) {
	cols := 1
	for _, d := range dims {
		if !d.Static() || d.Const < 1 || d.Const > regionCols/cols {
			return unfit, 0
		}
		cols *= d.Const
	}
	return f, cols
}

// elementalOf returns the kernel of o, with the forms of its operands in the kernel's order, or nil if o cannot be in a
// fusion. cols is 0 if o works on a matrix with any number of columns.
func elementalOf(o *op) (e *elemental, forms [2]operandForm, cols int) {
	e = o.def.elemental
	if isBias(o) {
		e = &elemental{binary: true, op: int(kernels.Add), second: 1}
	}
	if e == nil || o.feed >= 0 || len(o.node.Outputs) != 1 || e.binary != (len(o.in) == 2) || len(o.in) < 1 || len(o.in) > 2 {
		return nil, forms, 0
	}
	t := o.node.Outputs[0]
	if t.DType != tensor.Float32 && t.DType != tensor.Float64 {
		return nil, forms, 0
	}
	for k, i := range []int{e.first, e.second}[:len(o.in)] {
		in := typeOf(o.in[i])
		f, n := formOf(in.Shape, t.Shape)
		if in.DType != t.DType || f == unfit || n > 0 && cols > 0 && n != cols {
			return nil, forms, 0
		}
		if f != asWhole && !e.broadcasts && !isBias(o) { // the op itself refuses such an operand
			return nil, forms, 0
		}
		forms[k], cols = f, max(cols, n)
	}
	if e.binary && cols > 0 && forms[0] != asWhole { // kernels take the whole operand first
		if forms[1] != asWhole || !commutes(kernels.BinaryOp(e.op)) {
			return nil, forms, 0
		}
		turned := *e
		turned.first, turned.second = e.second, e.first
		e, forms[0], forms[1] = &turned, forms[1], forms[0]
	}
	if forms[0] != asWhole && forms[1] != asWhole {
		return nil, forms, 0
	}
	return e, forms, cols
}

// isBias reports whether o adds a bias to the last dimension of a matrix or more.
func isBias(o *op) bool {
	if o.node.Op != ops.BiasAdd.Name || len(o.in) != 2 || len(o.node.Outputs) != 1 || !channelsLast(o.node) {
		return false
	}
	x, bias := o.node.Outputs[0].Shape, typeOf(o.in[1]).Shape
	return whole(o, 0) && len(x.Dims) >= 2 && len(bias.Dims) == 1 && bias.Dims[0] == x.Dims[len(x.Dims)-1]
}

func commutes(op kernels.BinaryOp) bool {
	switch op {
	case kernels.Add, kernels.Mul, kernels.SquaredDifference:
		return true
	}
	return false
}

// fitsRegion reports whether the host can do the ops block by block: all must have the same type, shape and columns.
func fitsRegion(r *fusion) bool {
	t, all := r.ops[0].node.Outputs[0], 0
	for _, o := range r.ops {
		e, _, cols := elementalOf(o)
		if e == nil || !sameType(o.node.Outputs[0], t) || cols > 0 && all > 0 && cols != all {
			return false
		}
		all = max(all, cols)
	}
	return true
}

// regionDef is the opDef of a fusion on the host. The last result is written when all else is done, so it may take over the
// storage of any whole operand.
func regionDef(o *op) *opDef {
	d := &opDef{alone: true, into: len(o.node.Outputs) - 1, compile: floats(compileRegion[float32], compileRegion[float64])}
	for i := range o.in {
		d.inplace = append(d.inplace, i)
	}
	return d
}

// regionOperand is the result of an earlier link, or a source of the region.
type regionOperand struct {
	link, source int // -1 for the other kind
	form         operandForm
}

// regionLink is one op of a region.
type regionLink struct {
	op     int
	binary bool
	a, b   regionOperand
	result int // index among the results, or -1
	slot   int // index of a scratch block for a result that only the region reads, or -1
}

// region is a fusion on the host.
type region[T kernels.Float] struct {
	links   []regionLink
	cols    int // columns of the matrices that all values are; 1 if no operand is by row or column
	slots   int
	sources [][]T
	results [][]T
}

func compileRegion[T kernels.Float](c *binding) (runFunc, error) {
	r := newRegion[T](c.op.fusion)
	if err := checkTypes[T](append(slices.Clone(c.in), c.out...)...); err != nil {
		return nil, err
	}
	do := parallel(max(1, 2*regionBlock/r.cols), r.rows)
	return func() error {
		for i, v := range c.in {
			r.sources[i] = view[T](v)
		}
		for i, v := range c.out {
			r.results[i] = view[T](v)
		}
		do(c.out[0].n / r.cols)
		clear(r.sources) // do not hold on to the memory of feeds
		return nil
	}, nil
}

func newRegion[T kernels.Float](f *fusion) *region[T] {
	r := &region[T]{cols: 1, sources: make([][]T, len(f.sources)), results: make([][]T, len(f.results))}
	at := map[*graph.Node]int{}
	find := func(x graph.Output, form operandForm) regionOperand {
		if i, ok := at[x.Node]; ok {
			return regionOperand{link: i, source: -1, form: form}
		}
		return regionOperand{link: -1, source: slices.Index(f.sources, x), form: form}
	}
	for i, n := range f.nodes {
		e, forms, cols := elementalOf(f.ops[i])
		l := regionLink{op: e.op, binary: e.binary, result: slices.Index(f.results, n.Out(0)), slot: -1, a: find(n.Inputs[e.first], forms[0])}
		if e.binary {
			l.b = find(n.Inputs[e.second], forms[1])
		}
		r.cols = max(r.cols, cols)
		r.links = append(r.links, l)
		at[n] = i
	}
	r.assignSlots()
	return r
}

// assignSlots gives each link without a result a block of its own until its last reader is done.
func (r *region[T]) assignSlots() {
	last := make([]int, len(r.links))
	for i := range r.links {
		for _, from := range []regionOperand{r.links[i].a, r.links[i].b} {
			if from.link >= 0 && from.form != unfit {
				last[from.link] = i
			}
		}
	}
	var free []int
	for i := range r.links {
		l := &r.links[i]
		for k := range i {
			if last[k] == i && r.links[k].slot >= 0 { // a kernel may overwrite its operand
				free = append(free, r.links[k].slot)
			}
		}
		if l.result >= 0 {
			continue
		}
		if len(free) == 0 {
			free, r.slots = append(free, r.slots), r.slots+1
		}
		l.slot, free = free[len(free)-1], free[:len(free)-1]
	}
}

// rows computes rows lo to hi of all links.
func (r *region[T]) rows(lo, hi int) {
	each := max(1, regionBlock/r.cols)
	scratch := kernels.Borrow[T](r.slots * each * r.cols)
	for ; lo < hi; lo += each {
		to := min(lo+each, hi)
		for i := range r.links {
			r.run(&r.links[i], scratch.Data, lo, to)
		}
	}
	scratch.GiveBack()
}

// block returns the memory for rows lo to hi of a link's result.
func (r *region[T]) block(l *regionLink, buf []T, lo, hi int) []T {
	if l.result >= 0 {
		return r.results[l.result][lo*r.cols : hi*r.cols]
	}
	each := len(buf) / r.slots
	return buf[l.slot*each:][:(hi-lo)*r.cols]
}

func (r *region[T]) operand(o regionOperand, buf []T, lo, hi int) []T {
	switch {
	case o.link >= 0:
		return r.block(&r.links[o.link], buf, lo, hi)
	case o.form == asWhole:
		return r.sources[o.source][lo*r.cols : hi*r.cols]
	case o.form == eachRow:
		return r.sources[o.source][lo:hi]
	}
	return r.sources[o.source]
}

// run applies a link to rows lo to hi.
func (r *region[T]) run(l *regionLink, buf []T, lo, hi int) {
	d, a := r.block(l, buf, lo, hi), r.operand(l.a, buf, lo, hi)
	if !l.binary {
		kernels.Unary(kernels.UnaryOp(l.op), d, a)
		return
	}
	op, b := kernels.BinaryOp(l.op), r.operand(l.b, buf, lo, hi)
	switch {
	case l.a.form == asScalar:
		kernels.ScalarBinary(op, d, a[0], b)
	case l.b.form == asScalar:
		kernels.BinaryScalar(op, d, a, b[0])
	case l.b.form == eachColumn:
		kernels.BroadcastRow(op, d, a, b, hi-lo, r.cols)
	case l.b.form == eachRow:
		kernels.BroadcastCol(op, d, a, b, hi-lo, r.cols)
	default:
		kernels.Binary(op, d, a, b)
	}
}
