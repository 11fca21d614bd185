package engine

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// fusionOp is the op that does several elementwise nodes in one pass over memory.
const fusionOp = "_Elementwise"

// maxFusedNodes bounds a fusion: kernels take time to compile, and their values take registers.
const maxFusedNodes = 48

// fusion is elementwise ops on one shape, inputs first.
type fusion struct {
	ops     []*op
	nodes   []*graph.Node
	sources []graph.Output
	results []graph.Output
}

// fuse merges ops that an accelerator does in one kernel: products and convolutions with bias and ReLU, batch normalization
// with addition and ReLU and, unless results are checked, elementwise ops in fusions. It returns the remaining ops.
func (t *acceleratorTarget) fuse(p *plan, ops []*op) []*op {
	if p.options.Precision == BF16Mixed {
		ops = t.mix(p, ops)
	}
	f := newFuser(ops, p.fetched, p.written)
	f.fits = t.fits
	for _, o := range ops {
		switch o.node.Op {
		case "BiasAdd":
			f.bias(o)
		case "AddV2", "Add":
			f.normAdd(o, ops)
		case "Relu":
			f.relu(o)
			f.normRelu(o, ops)
		}
	}
	ops = slices.DeleteFunc(ops, func(o *op) bool { return f.gone[o] })
	if p.options.CheckNumerics {
		return ops
	}
	return t.fuseElementwise(p, ops)
}

// fits reports whether the accelerator has a kernel for the node on these inputs.
func (t *acceleratorTarget) fits(n *graph.Node, in []port) bool {
	return t.dev.Supports(typedOperation(n, in)) == nil
}

// typedOperation returns an operation with types but no places.
func typedOperation(n *graph.Node, in []port) *Operation {
	o := &Operation{Node: n}
	for _, p := range in {
		o.In = append(o.In, typeOperand(p))
	}
	for _, t := range n.Outputs {
		o.Out = append(o.Out, &Operand{Type: t})
	}
	return o
}

// fuseElementwise puts elementwise ops that use each other into fusions, as far as the accelerator can compile them.
func (t *acceleratorTarget) fuseElementwise(p *plan, ops []*op) []*op {
	g := &fusionBuilder{p: p, define: fusionDef, window: len(ops), visits: math.MaxInt}
	g.fits = func(r *fusion) bool {
		o := &op{index: r.ops[0].index}
		g.describe(r, o)
		operation := typedOperation(o.node, o.in)
		operation.Body, operation.Sources, operation.Results = r.nodes, r.sources, r.results
		return t.dev.Supports(operation) == nil
	}
	return g.fuse(ops)
}

// fuse puts ops that use each other into fusions, as far as these fit and cause no cycle, and returns the remaining ops.
func (g *fusionBuilder) fuse(ops []*op) []*op {
	sorted, err := sortOps(ops, nil)
	if err != nil {
		return ops // order reports the error
	}
	g.of, g.seen = make([]*fusion, len(sorted)), make([]int, len(sorted))
	g.varies, g.users = map[*op]bool{}, map[*op][]*op{}
	for i, o := range sorted {
		o.at = i
		if isTransparent(o) {
			continue
		}
		for _, in := range o.in {
			from := transparent(in).op
			g.users[from] = append(g.users[from], o)
		}
	}
	outside := g.p.fetched
	for _, o := range sorted {
		for _, d := range o.after {
			if isTransparent(d) { // it stays, because o waits for it
				outside = append(outside[:len(outside):len(outside)], port{d, 0})
			}
		}
	}
	for _, f := range outside {
		from := transparent(f).op
		g.users[from] = append(g.users[from], nil)
	}
	for _, o := range sorted {
		if len(g.users[o]) == 0 { // a target, or others wait for it
			g.users[o] = []*op{nil}
		}
	}
	for _, o := range sorted {
		g.add(o)
	}
	return g.replace(sorted)
}

// fusionBuilder finds the fusions of a graph, which it visits inputs first.
type fusionBuilder struct {
	p      *plan
	fits   func(*fusion) bool // whether the device supports the fusion
	define func(*op) *opDef   // for a fusion's op
	window int                // the most places between the first and last op of a fusion
	visits int                // how many more ops the searches for cycles may visit
	users  map[*op][]*op      // readers of results, also through transparent ops; nil is the caller
	of     []*fusion          // by op.at
	seen   []int              // by op.at: the last search that visited an op
	search int
	varies map[*op]bool // values that change from run to run
}

func (g *fusionBuilder) add(o *op) {
	g.varies[o] = o.feed >= 0 || o.reads != nil || slices.ContainsFunc(o.in, func(p port) bool { return g.varies[p.op] && !o.def.shape })
	if !g.varies[o] || o.feed >= 0 || o.def.alias || o.def.effect || o.reads != nil || len(o.write) > 0 || len(o.node.Outputs) != 1 || len(o.in) == 0 {
		return
	}
	alone := &fusion{ops: []*op{o}}
	if !g.fits(alone) {
		return
	}
	g.of[o.at] = alone
	for _, in := range o.in {
		from := transparent(in).op
		r := g.of[from.at]
		if r != nil && r != g.of[o.at] && from.node.Outputs[0].Shape.Equal(o.node.Outputs[0].Shape) {
			g.join(r, g.of[o.at])
		}
	}
}

// isTransparent reports whether an op returns its input unchanged.
func isTransparent(o *op) bool {
	return o.def.alias && o.feed < 0 && len(o.in) > 0 && len(o.node.Outputs) == 1 && len(o.after) == 0 && sameType(o.node.Outputs[0], typeOf(o.in[0]))
}

// transparent follows transparent ops to their input.
func transparent(p port) port {
	for isTransparent(p.op) {
		p = p.op.in[0]
	}
	return p
}

// join merges two fusions if possible.
func (g *fusionBuilder) join(a, b *fusion) {
	both := &fusion{ops: append(slices.Clone(a.ops), b.ops...)}
	slices.SortFunc(both.ops, func(x, y *op) int { return x.at - y.at })
	last := len(both.ops) - 1
	if last >= maxFusedNodes || both.ops[last].at-both.ops[0].at > g.window || g.visits <= 0 || !g.fits(both) || g.reaches(a, b) || g.reaches(b, a) {
		return
	}
	for _, o := range both.ops {
		g.of[o.at] = both
	}
}

// reaches reports whether fusion to depends on fusion from through ops of neither: merged, they would wait for
// themselves.
func (g *fusionBuilder) reaches(from, to *fusion) bool {
	g.search++
	var depends func(o *op) bool // whether o, or an op that it depends on, is in from
	depends = func(o *op) bool {
		r := g.of[o.at]
		if r == from {
			return true
		}
		if g.seen[o.at] == g.search || r == to {
			return false
		}
		g.seen[o.at] = g.search
		g.visits--
		if r == nil {
			return slices.ContainsFunc(needed(o), depends)
		}
		for _, m := range r.ops {
			g.seen[m.at] = g.search
		}
		return slices.ContainsFunc(r.ops, func(m *op) bool { return slices.ContainsFunc(needed(m), depends) })
	}
	return slices.ContainsFunc(to.ops, func(o *op) bool {
		return slices.ContainsFunc(needed(o), func(d *op) bool { return g.of[d.at] != from && depends(d) })
	})
}

// needed returns the ops that an op depends on, skipping transparent ops.
func needed(o *op) []*op {
	all := make([]*op, 0, len(o.in)+len(o.after))
	for _, in := range o.in {
		all = append(all, transparent(in).op)
	}
	return append(all, o.after...)
}

// wanted reports whether an op outside of the fusion, or the caller, reads the result of the fusion's op o.
func (g *fusionBuilder) wanted(r *fusion, o *op) bool {
	return slices.ContainsFunc(g.users[o], func(u *op) bool { return u == nil || !slices.Contains(r.ops, u) })
}

// describe makes o do the work of the fusion's ops, and maps their outputs to o's.
func (g *fusionBuilder) describe(r *fusion, o *op) (renamed map[port]port) {
	nodes, sources := map[*op]*graph.Node{}, map[port]graph.Output{}
	r.nodes, r.sources, r.results = nil, nil, nil
	renamed = map[port]port{}
	last := r.ops[len(r.ops)-1].node
	n := &graph.Node{Name: last.Name, Op: fusionOp, Device: last.Device}
	for _, m := range r.ops {
		part := *m.node
		part.Inputs, part.Control = nil, nil
		for _, in := range m.in {
			in = transparent(in)
			if made := nodes[in.op]; made != nil {
				part.Inputs = append(part.Inputs, made.Out(in.idx))
				continue
			}
			if _, ok := sources[in]; !ok {
				sources[in] = in.op.node.Out(in.idx)
				r.sources = append(r.sources, sources[in])
				o.in = append(o.in, in)
			}
			part.Inputs = append(part.Inputs, sources[in])
		}
		o.after = append(o.after, m.after...)
		nodes[m] = &part
		r.nodes = append(r.nodes, &part)
		if g.wanted(r, m) {
			renamed[port{m, 0}] = port{o, len(n.Outputs)}
			n.Outputs = append(n.Outputs, m.node.Outputs[0])
			r.results = append(r.results, part.Out(0))
		}
	}
	o.node = n
	return renamed
}

// replace replaces the ops of each fusion by one op, and returns the remaining ops.
func (g *fusionBuilder) replace(ops []*op) []*op {
	made, renamed, instead := map[*fusion]*op{}, map[port]port{}, map[*op]*op{}
	var left, handing []*op
	for _, o := range ops {
		if isTransparent(o) {
			handing = append(handing, o)
		}
		r := g.of[o.at]
		if r == nil || len(r.ops) < 2 {
			left = append(left, o)
			continue
		}
		if made[r] == nil {
			m := &op{index: o.index, feed: -1, fusion: r}
			for from, to := range g.describe(r, m) {
				renamed[from] = to
			}
			m.def = g.define(m)
			made[r], left = m, append(left, m)
		}
		instead[o] = made[r]
	}
	for _, o := range left {
		for i, in := range o.in {
			if to, ok := renamed[in]; ok {
				o.in[i] = to
			}
		}
		for i, d := range o.after {
			if m := instead[d]; m != nil {
				o.after[i] = m
			}
		}
		o.after = slices.DeleteFunc(o.after, func(d *op) bool { return d == o })
	}
	for _, o := range handing { // drop transparent ops inside a fusion
		if instead[o.in[0].op] != nil {
			o.in = nil
		}
	}
	for i, f := range g.p.fetched {
		if to, ok := renamed[f]; ok {
			g.p.fetched[i] = to
		}
	}
	return withoutUnused(left, handing, g.p.fetched)
}

// fusionDef is the opDef of a fusion on an accelerator. Its first result may take over the storage of any input of the same type.
func fusionDef(o *op) *opDef {
	d := &opDef{compile: func(*binding) (runFunc, error) { return nil, errFusion }}
	for i := range o.in {
		d.inplace = append(d.inplace, i)
	}
	return d
}
