package engine

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// mixer rewrites ops for BF16Mixed.
type mixer struct {
	dev   Accelerator
	ops   []*op
	users map[*op][]*op
	leads map[*op]bool // the result reaches a product through Follows ops
	casts map[port]port
}

// mix makes products and the ops that follow them work on bfloat16, with one Cast op for each value in between. Variables,
// fetches and feeds keep their types.
func (t *acceleratorTarget) mix(p *plan, ops []*op) []*op {
	sorted, err := sortOps(ops, nil)
	if err != nil {
		return ops // order reports the error
	}
	m := &mixer{dev: t.dev, users: map[*op][]*op{}, leads: map[*op]bool{}, casts: map[port]port{}}
	for _, o := range sorted {
		for _, in := range o.in {
			m.users[in.op] = append(m.users[in.op], o)
		}
	}
	for i := len(sorted) - 1; i >= 0; i-- {
		m.leads[sorted[i]] = slices.ContainsFunc(m.users[sorted[i]], m.wants)
	}
	for _, o := range sorted {
		m.visit(o)
		m.ops = append(m.ops, o)
	}
	for i, f := range p.fetched {
		p.fetched[i] = m.as(f, tensor.Float32)
	}
	return m.ops
}

// wants reports whether an op would rather have its operands in bfloat16.
func (m *mixer) wants(o *op) bool {
	switch {
	case o.feed >= 0 || o.phantom:
		return false
	case o.def.alias:
		return m.leads[o]
	}
	switch o.def.precision {
	case ops.Multiplies:
		return true
	case ops.Follows:
		return m.leads[o]
	case ops.SumsUp: // only on images
		return o.node.Op == "Mean" && typeOf(o.in[0]).Shape.Rank() > 2
	}
	return false
}

func (m *mixer) visit(o *op) {
	if o.feed >= 0 || o.phantom || len(o.in) == 0 {
		return
	}
	narrow := slices.ContainsFunc(o.in, func(p port) bool { return typeOf(p).DType == tensor.BFloat16 })
	how := o.def.precision
	switch {
	case o.def.alias:
		if narrow {
			o.retype(map[int]bool{0: true})
		}
		return
	case how == ops.Multiplies:
		in, out := m.operands(o)
		if m.leads[o] && m.try(o, in, out) || m.try(o, in, nil) || m.try(o, in, out) {
			return
		}
	case how == ops.Follows && narrow && m.leads[o]:
		if in, out := m.operands(o); m.try(o, in, out) {
			return
		}
	case how == ops.SumsUp && narrow:
		if in, _ := m.operands(o); m.try(o, in, nil) {
			return
		}
	}
	m.widen(o)
}

// operands returns which inputs and outputs may be bfloat16: all of the op's type T.
func (m *mixer) operands(o *op) (in, out map[int]bool) {
	in, out = map[int]bool{}, map[int]bool{}
	def := ops.Find(o.node.Op)
	for i, p := range o.in {
		if d := typeOf(p).DType; (d == tensor.Float32 || d == tensor.BFloat16) && !p.op.phantom {
			in[i] = def.InputAt(i, len(o.in)).TypeAttr == "T"
		}
	}
	for i, t := range o.node.Outputs {
		out[i] = t.DType == tensor.Float32 && def.OutputAt(i, len(o.node.Outputs)).TypeAttr == "T"
	}
	return in, out
}

// try gives an op bfloat16 operands in and results out, and float32 for the rest of type T, if the accelerator has such a
// kernel.
func (m *mixer) try(o *op, in, out map[int]bool) bool {
	trial := &op{node: o.node}
	trial.retype(out)
	operation := typedOperation(trial.node, o.in)
	for i, narrow := range in {
		x := operation.In[i]
		if x.Type.DType = tensor.Float32; narrow {
			x.Type.DType, x.Constant = tensor.BFloat16, nil
		}
	}
	if m.dev.Supports(operation) != nil {
		return false
	}
	o.node = trial.node
	for i, narrow := range in {
		d := tensor.Float32
		if narrow {
			d = tensor.BFloat16
		}
		o.in[i] = m.as(o.in[i], d)
	}
	return true
}

// widen makes all operands float32.
func (m *mixer) widen(o *op) {
	for i, p := range o.in {
		o.in[i] = m.as(p, tensor.Float32)
	}
}

// retype makes the results in out bfloat16.
func (o *op) retype(out map[int]bool) {
	n := *o.node
	n.Outputs = slices.Clone(n.Outputs)
	for i := range n.Outputs {
		if out[i] && n.Outputs[i].DType == tensor.Float32 {
			n.Outputs[i].DType = tensor.BFloat16
		}
	}
	o.node = &n
}

// as returns a value as float32 or bfloat16, with a Cast if necessary.
func (m *mixer) as(p port, d tensor.DType) port {
	t := typeOf(p)
	if t.DType == d || t.DType != tensor.Float32 && t.DType != tensor.BFloat16 {
		return p
	}
	if c, ok := m.casts[p]; ok {
		return c
	}
	n := &graph.Node{Name: p.op.node.Name + "/" + d.String(), Op: "Cast", Device: p.op.node.Device, Attrs: graph.Attrs{}, Outputs: []graph.Type{{DType: d, Shape: t.Shape}}}
	maps.Copy(n.Attrs, graph.Attrs{"SrcT": t.DType, "DstT": d})
	c := &op{node: n, index: p.op.index, feed: -1, in: []port{p}, def: registry()["Cast"]}
	m.ops = append(m.ops, c)
	to := port{c, 0}
	m.casts[p], m.casts[to] = to, p // and back: a cast to float32 gives the unrounded original
	return to
}
