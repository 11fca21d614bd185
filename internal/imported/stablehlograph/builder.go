package stablehlograph

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// Limits on what is computed while a module is translated.
const (
	maxFolded     = 1 << 12 // elements of the results of a node with constant inputs
	smallConstant = 1 << 10 // elements of constants that are copied into functions
)

// builder adds nodes to the graph of a function.
type builder struct {
	t         *translation
	g         *graph.Builder
	parent    *builder             // for a loop or branch: the builder of the graph around it
	taken     map[identity]*value  // values of the parent, as arguments
	args      []*value             // these values, in order, in the parent's graph
	nodes     []*graph.Node        // their placeholders
	made      map[*graph.Node]bool // by this builder
	constants map[*tensor.Tensor]graph.Output
	wholes    map[*value]*value // broadcasts that have been made
	effects   []*graph.Node     // nodes that run although no result needs them
	name      string            // name of the nodes that are made
}

func (t *translation) builder(parent *builder) *builder {
	return &builder{t: t, g: graph.NewBuilder(graph.New()), parent: parent, taken: map[identity]*value{}, made: map[*graph.Node]bool{},
		constants: map[*tensor.Tensor]graph.Output{}, wholes: map[*value]*value{}, name: "node"}
}

// node adds a node with one result, whose sizes are dims.
func (b *builder) node(d *ops.Def, dims []int, attrs graph.Attrs, in ...*value) *value {
	return b.several(d, [][]int{dims}, attrs, in...)[0]
}

// several adds a node, and returns its results. Type attributes and counts follow from the inputs. If the inputs are constant and small,
// so are the results. Integers that the op does not support are computed as int64, and floats as float32.
func (b *builder) several(d *ops.Def, dims [][]int, attrs graph.Attrs, in ...*value) []*value {
	n := &graph.Node{Op: d.Name, Attrs: maps.Clone(attrs)}
	if n.Attrs == nil {
		n.Attrs = graph.Attrs{}
	}
	in = slices.Clone(in)
	types := make([]tensor.DType, len(in))
	for i, v := range in {
		in[i] = b.own(b.whole(v))
		types[i] = v.dtype
	}
	out, err := d.Types(n.Attrs, types)
	if err != nil {
		refuse("%v", err)
	}
	for _, t := range out {
		n.Outputs = append(n.Outputs, graph.Type{DType: t, Shape: graph.Shape{UnknownRank: true}})
	}
	b.t.add(1 + len(in) + len(out))
	if err := eager.Check(n); err != nil {
		if all := b.wider(err, d, dims, attrs, in); all != nil {
			return all
		}
		refuse("%s", reason(err))
	}
	if all := fold(b.t.ctx, d, n, in); all != nil {
		for _, v := range all {
			b.t.pay(v.t.MemoryBytes())
		}
		return all
	}
	for _, v := range in {
		n.Inputs = append(n.Inputs, b.operand(v))
	}
	n.Name = b.g.Graph.UniqueName(b.name) // the nodes of the inputs already have names
	if err := b.g.Graph.Add(n); err != nil {
		refuse("%v", err)
	}
	b.made[n] = true
	all := make([]*value, len(out))
	for i, t := range out {
		all[i] = &value{dtype: t, out: n.Out(i)}
		if i < len(dims) {
			all[i].dims = dims[i]
		}
	}
	return all
}

// wider computes a node whose op does not support its inputs' type in a wider type; it returns nil if there is none.
func (b *builder) wider(err error, d *ops.Def, dims [][]int, attrs graph.Attrs, in []*value) []*value {
	if typ := (*eager.TypeError)(nil); !errors.As(err, &typ) {
		return nil
	}
	narrow, wide := tensor.Invalid, tensor.Invalid
	raised := slices.Clone(in)
	for i, v := range in {
		to := widerType(v.dtype)
		if to == tensor.Invalid || d.InputAt(i, len(in)).TypeAttr != "T" {
			continue
		}
		if narrow != tensor.Invalid && narrow != v.dtype {
			return nil
		}
		narrow, wide = v.dtype, to
		raised[i] = b.cast(v, to)
	}
	if wide == tensor.Invalid {
		return nil
	}
	all := b.several(d, dims, attrs, raised...)
	for i, y := range all {
		if d.OutputAt(i, len(all)).TypeAttr == "T" {
			all[i] = b.cast(y, narrow)
		}
	}
	return all
}

// widerType returns a type that holds all values of d, and whose sums and products are the same once they are truncated.
func widerType(d tensor.DType) tensor.DType {
	switch d {
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Uint8, tensor.Uint16, tensor.Uint32:
		return tensor.Int64
	case tensor.Float16, tensor.BFloat16:
		return tensor.Float32
	}
	return tensor.Invalid
}

// reason returns a kernel's error without the node's name.
func reason(err error) string {
	if e, ok := err.(*eager.Error); ok {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}

// fold computes a node of small constants; nil if an input is not one.
func fold(ctx context.Context, d *ops.Def, n *graph.Node, in []*value) []*value {
	if d.State != ops.Pure || d.Heavy || len(in) == 0 {
		return nil
	}
	values := make([]eager.Value, len(in))
	for i, v := range in {
		if v.t == nil || v.t.Len() > maxFolded {
			return nil
		}
		values[i].T = v.t
	}
	k, err := eager.Prepare(n)
	if err != nil {
		return nil
	}
	out := make([]eager.Value, len(n.Outputs))
	if err := k(ctx, &eager.Env{Limit: maxFolded * 16}, values, out); err != nil {
		return nil
	}
	all := make([]*value, len(out))
	for i, r := range out {
		if r.T == nil {
			return nil
		}
		all[i] = constant(r.T)
	}
	return all
}

// own returns a value of this builder: it makes a value of the parent an argument.
func (b *builder) own(v *value) *value {
	if v.t != nil && (b.parent == nil || v.t.Len() <= smallConstant) || b.made[v.out.Node] {
		return v
	}
	if b.parent == nil {
		refuse("a value is used outside of its function")
	}
	if v == noToken {
		refuse("a token where a tensor is expected")
	}
	if w := b.taken[v.identity()]; w != nil {
		return w
	}
	outer := b.parent.own(v)
	w := b.placeholder(outer.dtype, outer.dims)
	b.taken[v.identity()] = w
	b.args, b.nodes = append(b.args, outer), append(b.nodes, w.out.Node)
	return w
}

// shapeOf returns a shape whose open sizes may be anything.
func shapeOf(dims []int) graph.Shape {
	shape := graph.Shape{Dims: make([]graph.Dim, len(dims))}
	for i, n := range dims {
		shape.Dims[i] = graph.Unknown
		if n >= 0 {
			shape.Dims[i] = graph.Fixed(n)
		}
	}
	return shape
}

// placeholder adds an argument.
func (b *builder) placeholder(d tensor.DType, dims []int) *value {
	b.t.add(1)
	v := &value{dtype: d, dims: dims}
	v.out = b.g.Placeholder(b.g.Graph.UniqueName("argument"), graph.Type{DType: d, Shape: shapeOf(dims)})
	b.made[v.out.Node] = true
	return v
}

// whole adds the node of a broadcast.
func (b *builder) whole(v *value) *value {
	if v.low == nil {
		return v
	}
	if w := b.wholes[v]; w != nil {
		return w
	}
	w := b.node(ops.BroadcastTo, v.dims, nil, v.low, v.shape)
	b.wholes[v] = w
	return w
}

// operand returns the output that carries a value.
func (b *builder) operand(v *value) graph.Output {
	if v.t == nil {
		return v.out
	}
	if o, ok := b.constants[v.t]; ok {
		return o
	}
	b.t.pay(v.t.MemoryBytes())
	o := b.g.Const(b.g.Graph.UniqueName("constant"), v.t)
	b.constants[v.t] = o
	return o
}

// cast converts a value to another type.
func (b *builder) cast(v *value, to tensor.DType) *value {
	if v.dtype == to {
		return v
	}
	return b.each(ops.Cast, graph.Attrs{"DstT": to}, v)
}

// each adds an elementwise node. If all operands that have the result's sizes are broadcasts, the result is one too.
func (b *builder) each(d *ops.Def, attrs graph.Attrs, in ...*value) *value {
	var lowDims, dims []int
	lows := make([]*value, len(in))
	for i, v := range in {
		lows[i] = v.small()
		lowDims, dims = joined(lowDims, lows[i].dims), joined(dims, v.dims)
	}
	var shape *value
	for _, v := range in {
		if !slices.Equal(v.dims, dims) {
			continue
		}
		if v.low == nil { // an operand has all elements, and so does the result
			return b.node(d, dims, attrs, lows...)
		}
		shape = v.shape
	}
	if shape == nil { // the sizes come from several operands
		return b.node(d, dims, attrs, in...)
	}
	return b.spread(b.node(d, lowDims, attrs, lows...), dims, shape)
}
