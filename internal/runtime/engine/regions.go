package engine

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
)

// regionOp is the op of several elementwise nodes that an accelerator does in one pass over memory.
const regionOp = "_Elementwise"

// mostParts bounds a region: a kernel's compilation takes time, and its values registers.
const mostParts = 48

// region is ops that work element by element on one shape, in an order in which inputs come first.
type region struct {
	ops     []*op
	nodes   []*graph.Node
	sources []graph.Output
	results []graph.Output
}

// fuse merges what an accelerator does in one kernel: products and convolutions with bias and ReLU, batch normalization
// with addition and ReLU and, unless results are checked, elementwise ops in regions. It returns the ops that are left.
func (l *lowered) fuse(ops []*op) []*op {
	p := l.p
	if p.opts.Precision == BF16Mixed {
		ops = l.mix(ops)
	}
	f := newFuser(ops, p.fetched, p.written)
	f.fits = l.fits
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
	if p.opts.CheckNumerics {
		return ops
	}
	return l.regions(ops)
}

// fits asks the accelerator whether it has a kernel of the node on inputs.
func (l *lowered) fits(n *graph.Node, in []port) bool {
	return l.dev.Supports(typedOperation(n, in)) == nil
}

// typedOperation is an operation of which only the types are known.
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

// regions puts elementwise ops that use each other into regions, as far as the accelerator can compile them and no circle
// arises, and returns the ops that are left.
func (l *lowered) regions(ops []*op) []*op {
	sorted, err := sortOps(ops, nil)
	if err != nil {
		return ops // whoever orders them tells
	}
	g := &grouper{l: l, of: make([]*region, len(sorted)), seen: make([]int, len(sorted)), varies: map[*op]bool{}, users: map[*op][]*op{}}
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
	outside := l.p.fetched
	for _, o := range sorted {
		for _, d := range o.after {
			if isTransparent(d) { // it stays, for what it is waited for
				outside = append(outside[:len(outside):len(outside)], port{d, 0})
			}
		}
	}
	for _, f := range outside {
		from := transparent(f).op
		g.users[from] = append(g.users[from], nil)
	}
	for _, o := range sorted {
		g.add(o)
	}
	return g.replace(sorted)
}

// grouper finds the regions of a graph, which it visits inputs first.
type grouper struct {
	l      *lowered
	users  map[*op][]*op // who reads results, by way of transparent ops too; nil is the caller
	of     []*region     // by op.at
	seen   []int         // by op.at: in which search an op was met last
	search int
	varies map[*op]bool // from run to run
}

func (g *grouper) add(o *op) {
	g.varies[o] = o.feed >= 0 || o.reads != nil || slices.ContainsFunc(o.in, func(p port) bool { return g.varies[p.op] && !o.def.shape })
	if !g.varies[o] || o.feed >= 0 || o.def.alias || o.def.effect || o.reads != nil || len(o.write) > 0 || len(o.node.Outputs) != 1 || len(o.in) == 0 {
		return
	}
	alone := &region{ops: []*op{o}}
	if !g.compiles(alone) {
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

// isTransparent reports whether an op hands its input on as it is.
func isTransparent(o *op) bool {
	return o.def.alias && o.feed < 0 && len(o.in) > 0 && len(o.node.Outputs) == 1 && len(o.after) == 0 && sameType(o.node.Outputs[0], typeOf(o.in[0]))
}

// transparent follows such ops to what they hand on.
func transparent(p port) port {
	for isTransparent(p.op) {
		p = p.op.in[0]
	}
	return p
}

// join merges two regions, the second of which has the op at hand, if they may be.
func (g *grouper) join(a, b *region) {
	both := &region{ops: append(slices.Clone(a.ops), b.ops...)}
	slices.SortFunc(both.ops, func(x, y *op) int { return x.at - y.at })
	if len(both.ops) > mostParts || g.reaches(a, b) || g.reaches(b, a) || !g.compiles(both) {
		return
	}
	for _, o := range both.ops {
		g.of[o.at] = both
	}
}

// reaches reports whether one region depends on the other by way of something else: as one op they would wait for
// themselves.
func (g *grouper) reaches(from, to *region) bool {
	g.search++
	var depends func(o *op) bool // o or what it depends on is in from
	depends = func(o *op) bool {
		r := g.of[o.at]
		if r == from {
			return true
		}
		if g.seen[o.at] == g.search || r == to {
			return false
		}
		g.seen[o.at] = g.search
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

// needed returns what an op depends on, past transparent ops.
func needed(o *op) []*op {
	all := make([]*op, 0, len(o.in)+len(o.after))
	for _, in := range o.in {
		all = append(all, transparent(in).op)
	}
	return append(all, o.after...)
}

// wanted reports whether something outside of the region reads the result of an op of it.
func (g *grouper) wanted(r *region, o *op) bool {
	return slices.ContainsFunc(g.users[o], func(u *op) bool { return u == nil || !slices.Contains(r.ops, u) })
}

// compiles asks the accelerator.
func (g *grouper) compiles(r *region) bool {
	o := &op{index: r.ops[0].index}
	g.describe(r, o)
	operation := typedOperation(o.node, o.in)
	operation.Parts, operation.Sources, operation.Results = r.nodes, r.sources, r.results
	return g.l.dev.Supports(operation) == nil
}

// describe makes o do the work of the region's ops, and returns what their results are now.
func (g *grouper) describe(r *region, o *op) (renamed map[port]port) {
	nodes, sources := map[*op]*graph.Node{}, map[port]graph.Output{}
	r.nodes, r.sources, r.results = nil, nil, nil
	renamed = map[port]port{}
	last := r.ops[len(r.ops)-1].node
	n := &graph.Node{Name: last.Name, Op: regionOp, Device: last.Device}
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

// replace puts one op in the place of each region of several, and returns the ops that are left.
func (g *grouper) replace(ops []*op) []*op {
	made, renamed, instead := map[*region]*op{}, map[port]port{}, map[*op]*op{}
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
			m := &op{index: o.index, feed: -1, region: r}
			for from, to := range g.describe(r, m) {
				renamed[from] = to
			}
			m.def = regionDef(len(m.in))
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
	for _, o := range handing { // what hands on a value that nobody outside reads is not used
		if instead[o.in[0].op] != nil {
			o.in = nil
		}
	}
	for i, f := range g.l.p.fetched {
		if to, ok := renamed[f]; ok {
			g.l.p.fetched[i] = to
		}
	}
	return withoutUnused(left, handing, g.l.p.fetched)
}

// regionDef is what the engine knows of a region: its first result may lie where any input of the same type is.
func regionDef(inputs int) *opDef {
	d := &opDef{compile: func(*binding) (runFunc, error) { return nil, errRegion }}
	for i := range inputs {
		d.inplace = append(d.inplace, i)
	}
	return d
}
