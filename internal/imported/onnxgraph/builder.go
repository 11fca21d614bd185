package onnxgraph

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

// Limits on what is computed while a model is translated.
const (
	maxFolded   = 1 << 16 // elements of a result that is larger than its inputs
	maxProbed   = 4096    // elements of values computed under assumptions
	smallTensor = 1 << 10 // elements of constants that do not become variables
)

// builder adds nodes to one graph: the main graph or a function.
type builder struct {
	t      *translation
	g      *graph.Builder
	parent *builder            // for a function: the builder of the calling graph
	taken  map[*value]*value   // values of surrounding graphs, as arguments
	args   []*value            // these values, in order, in the parent's graph
	nodes  []*graph.Node       // their placeholders
	name   string              // name prefix of the nodes that are made
	made   map[*value]struct{} // values of this builder
}

// refusal is the panic value that ends the translation of a node.
type refusal struct{ why string }

// refuse ends the translation of the current node.
func refuse(format string, args ...any) { panic(refusal{fmt.Sprintf(format, args...)}) }

// own returns a value of this builder: it makes a parent's value an argument.
func (b *builder) own(v *value) *value {
	if _, mine := b.made[v]; mine || v.t != nil {
		return v
	}
	if b.parent == nil {
		refuse("a value of a graph within this one is used outside of it")
	}
	if v.seq {
		inner := &value{seq: true, list: v.list}
		for _, item := range v.items {
			inner.items = append(inner.items, b.own(item))
		}
		return b.add(inner)
	}
	if w := b.taken[v]; w != nil {
		return w
	}
	outer := b.parent.plain(b.parent.own(v))
	if outer.t != nil {
		return outer
	}
	b.taken[v] = b.capture(outer)
	return b.taken[v]
}

// capture makes a value of the parent an argument.
func (b *builder) capture(outer *value) *value {
	if w := b.taken[outer]; w != nil {
		return w
	}
	w := b.placeholder("captured", outer.dtype, outer.known)
	w.four, w.list = outer.four, outer.list
	b.taken[outer] = w
	b.args, b.nodes = append(b.args, outer), append(b.nodes, w.out.Node)
	return w
}

// placeholder adds an argument or input.
func (b *builder) placeholder(name string, d tensor.DType, known probes) *value {
	if len(known) > 0 {
		for i := range known {
			known[i].T = nil
		}
	}
	shape := graph.Shape{UnknownRank: true}
	w := &value{dtype: d, known: known}
	if dims := w.dims(); dims != nil {
		shape = graph.Shape{}
		for _, n := range dims {
			d := graph.Unknown
			if n >= 0 {
				d = graph.Fixed(n)
			}
			shape.Dims = append(shape.Dims, d)
		}
	}
	w.out = b.g.Placeholder(b.nodeName(name, ""), graph.Type{DType: d, Shape: shape})
	return b.add(w)
}

func (b *builder) add(v *value) *value {
	b.made[v] = struct{}{}
	return v
}

// maxName bounds the model's own names, since the nodes made from a node all begin with its name.
const maxName = 200

// nodeName returns a name that is valid in any graph and function, made of a name of the model and an ending.
func (b *builder) nodeName(name, ending string) string {
	name = name[:min(len(name), maxName)] + ending
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if clean == "" || clean[0] == '_' {
		clean = "x" + clean
	}
	return b.g.Graph.UniqueName(clean)
}

// op adds a node with one result.
func (b *builder) op(d *ops.Def, attrs graph.Attrs, in ...*value) *value {
	return b.ops(d, attrs, in...)[0]
}

// ops adds a node, and returns its results. Type attributes and counts follow from the inputs. If all inputs are constant,
// the results are too.
func (b *builder) ops(d *ops.Def, attrs graph.Attrs, in ...*value) []*value {
	n := &graph.Node{Op: d.Name, Attrs: maps.Clone(attrs)}
	if n.Attrs == nil {
		n.Attrs = graph.Attrs{}
	}
	for i, v := range in {
		in[i] = b.plain(b.own(v))
	}
	if half, ok := inSteps(d, in); ok {
		return b.inFloat32(half, d, attrs, in)
	}
	n.Name = b.nodeName(b.name, "_"+d.Name) // the nodes that make the inputs plain already have names
	complete(d, n, in)
	b.t.count(1 + len(in) + len(n.Outputs))
	if err := eager.Check(n); err != nil {
		refuse("%s", reason(err))
	}
	if folded := b.fold(d, n, in); folded != nil {
		return folded
	}
	for i, v := range in {
		n.Inputs = append(n.Inputs, b.operand(v, d.InputAt(i, len(in)).Role))
	}
	if err := b.g.Graph.Add(n); err != nil {
		refuse("%v", err)
	}
	all := make([]*value, len(n.Outputs))
	for i, o := range n.Outputs {
		all[i] = b.add(&value{dtype: o.DType, out: n.Out(i)})
	}
	for p := range probes(all[0].known) {
		for i, k := range probe(b.t.ctx, d, n, in, p) {
			all[i].known[p] = k
		}
	}
	for _, y := range all {
		if len(all) == 1 || ranked[d] != nil {
			b.noteRank(d, n.Attrs, in, y)
		}
	}
	return all
}

// reason returns a kernel's error without the node's name.
func reason(err error) string {
	if e, ok := err.(*eager.Error); ok {
		return e.Op + ": " + e.Err.Error()
	}
	return err.Error()
}

// complete sets the attributes that follow from the inputs, and the types of the outputs.
func complete(d *ops.Def, n *graph.Node, in []*value) {
	types, err := d.Types(n.Attrs, typesOf(in))
	if err != nil {
		refuse("%v", err)
	}
	for _, t := range types {
		n.Outputs = append(n.Outputs, unranked(t))
	}
}

func unranked(t tensor.DType) graph.Type {
	return graph.Type{DType: t, Shape: graph.Shape{UnknownRank: true}}
}

// fold computes a node with constant inputs; nil if an input is not constant, or the result would be large.
func (b *builder) fold(d *ops.Def, n *graph.Node, in []*value) []*value {
	if d.State != ops.Pure || len(in) == 0 || b.t.room < 0 {
		return nil
	}
	size := 0
	values := make([]eager.Value, len(in))
	for i, v := range in {
		if v.t == nil {
			return nil
		}
		size += v.t.MemoryBytes()
		values[i].T = v.t
	}
	if b.t.work -= size; b.t.work < 0 {
		return nil
	}
	results := compute(b.t.ctx, n, values, int64(max(size, maxFolded)))
	if results == nil {
		return nil
	}
	all := make([]*value, len(results))
	for i, r := range results {
		if r.T == nil {
			return nil
		}
		if b.t.room -= r.T.MemoryBytes(); b.t.room < 0 {
			return nil
		}
		all[i] = b.add(constant(r.T))
	}
	return all
}

// compute runs a node, or returns nil if that fails: a request will fail in the same way, with the message.
func compute(ctx context.Context, n *graph.Node, in []eager.Value, limit int64) []eager.Value {
	k, err := eager.Prepare(n)
	if err != nil {
		return nil
	}
	out := make([]eager.Value, len(n.Outputs))
	if err := k(ctx, &eager.Env{Limit: limit}, in, out); err != nil {
		return nil
	}
	return out
}

// probe returns what is known about a node's results under one assumption.
func probe(ctx context.Context, d *ops.Def, n *graph.Node, in []*value, p int) []infer.Value {
	known, values := make([]infer.Value, len(in)), make([]eager.Value, len(in))
	total := 0
	for i, v := range in {
		known[i] = v.known[p]
		if values[i].T = known[i].T; known[i].T == nil {
			total = maxProbed + 1
		} else {
			total += known[i].T.Len()
		}
	}
	out, err := infer.Node(n, known)
	if err != nil {
		return make([]infer.Value, len(n.Outputs))
	}
	if total > maxProbed || d.State != ops.Pure || len(in) == 0 || out[0].T != nil {
		return out
	}
	for i, r := range compute(ctx, n, values, maxProbed*8) {
		if r.T != nil {
			out[i] = infer.Of(r.T)
		}
	}
	return out
}

// operand returns the output that carries a value: of a node, a constant, or a variable.
func (b *builder) operand(v *value, role ops.Role) graph.Output {
	if v.t == nil {
		return v.out
	}
	held := b.constants(v)
	small := role == ops.RoleConstant || role == ops.RoleSize || v.t.DType == tensor.String || v.t.Len() <= smallTensor
	if !small && b.parent != nil {
		return b.capture(v).out
	}
	if small {
		if !held.constant.Valid() {
			held.constant = b.g.Const(b.nodeName(b.name, "_constant"), v.t)
		}
		return held.constant
	}
	if !held.variable.Valid() {
		held.variable = b.t.variable(b, v.t)
	}
	return held.variable
}
