package onnxgraph

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// inner returns a site in a new graph, for a function.
func (x *site) inner() *site {
	b := x.t.builder(x.builder)
	b.name = x.name
	s := x.t.scope(b, x.scope, x.scope.opsets)
	s.inFuncs, s.attrs = x.scope.inFuncs, x.scope.attrs
	return &site{builder: b, n: x.n, version: x.version, read: x.read, scope: s}
}

// arguments makes a placeholder of the same type for each value; known says what is known about them.
func (x *site) arguments(of []*value, known []probes) []*value {
	var args []*value
	for i, v := range of {
		a := x.placeholder("argument", v.dtype, known[i])
		a.four, a.list = v.four, v.list
		args = append(args, a)
	}
	return args
}

// function makes a function of the site's graph, and returns its name. Its explicit arguments come first, then captured values.
func (x *site) function(kind string, args, results []*value) string {
	var out []graph.Output
	for _, r := range results {
		out = append(out, x.operand(x.plain(x.own(r)), ops.RoleValue))
	}
	end := x.g.Node("NoOp", "end", nil, nil, out...)
	if err := x.g.Err(); err != nil {
		refuse("%v", err)
	}
	name := fmt.Sprintf("%s_%d", kind, len(x.t.library.Function))
	nodes := make([]*graph.Node, 0, len(args)+len(x.nodes))
	for _, a := range args {
		nodes = append(nodes, a.out.Node)
	}
	nodes = append(nodes, x.nodes...)
	pruned := graph.Prune(x.g.Graph, append([]*graph.Node{end}, nodes...)...)
	f := graphdef.Function{Name: name, Ends: []*graph.Node{pruned.Node(end.Name)}}
	for _, n := range nodes {
		f.Args = append(f.Args, pruned.Node(n.Name))
	}
	def, err := graphdef.ToFunctionDef(pruned, f)
	if err != nil {
		refuse("%v", err)
	}
	def.Signature.IsStateful = false
	x.t.library.Function = append(x.t.library.Function, def)
	return name
}

// share makes all functions take the values that any of them captured, in one order, and returns these values.
func share(all ...*site) []*value {
	var shared []*value
	seen := map[*value]bool{}
	for _, x := range all {
		for _, v := range x.args {
			if !seen[v] {
				seen[v] = true
				shared = append(shared, v)
			}
		}
	}
	for _, x := range all {
		nodes := make([]*graph.Node, len(shared))
		for i, v := range shared {
			nodes[i] = x.capture(v).out.Node
		}
		x.args, x.nodes = shared, nodes
	}
	return shared
}

// loop runs a body while a condition holds. Both get the current values; the body returns the next ones, of the same types.
func (x *site) loop(first []*value, known []probes, cond func(x *site, now []*value) *value, body func(x *site, now []*value) []*value) []*value {
	test, step := x.inner(), x.inner()
	testArgs, stepArgs := test.arguments(first, known), step.arguments(first, known)
	more := cond(test, testArgs)
	next := body(step, stepArgs)
	for i, v := range next {
		if v.declared() != first[i].declared() {
			refuse("value %d of the loop is %v and becomes %v", i, first[i].declared(), v.declared())
		}
		next[i] = step.plain(step.own(v))
		step.operand(next[i], ops.RoleValue) // this may capture
	}
	shared := share(test, step)
	for _, v := range shared {
		next = append(next, step.capture(v))
	}
	attrs := graph.Attrs{"cond": graph.Func{Name: test.function("cond", testArgs, []*value{more})}, "body": graph.Func{Name: step.function("body", stepArgs, next)}}
	out := x.ops(ops.StatelessWhile, attrs, append(append([]*value{}, first...), shared...)...)
	for i := range first {
		out[i].known, out[i].four, out[i].list = known[i], first[i].four, first[i].list
		for k := range out[i].known {
			out[i].known[k].T = nil
		}
	}
	return out[:len(first)]
}

// list returns an empty list of tensors.
func (b *builder) list(d tensor.DType) *value {
	return b.op(ops.EmptyTensorList, graph.Attrs{"element_dtype": d, "shape_type": tensor.Int32}, b.i32(-1), b.i32(-1))
}

// append adds a tensor to a list.
func (b *builder) append(list, v *value) *value { return b.op(ops.TensorListPushBack, nil, list, v) }

// stacked stacks the tensors of a list along a new first axis. like is one of them, as far as it is known. If there are none, open sizes are 0,
// as in ONNX Runtime.
func (b *builder) stacked(list, like *value) *value {
	element := b.i32(-1)
	if dims := like.dims(); dims != nil {
		if element = b.ints(dims...); slices.Contains(dims, -1) {
			none := b.op(ops.Equal, nil, b.op(ops.TensorListLength, nil, list), b.i32(0))
			element = b.op(ops.SelectV2, nil, none, b.op(ops.Maximum, nil, element, b.i32(0)), element)
		}
	}
	y := b.op(ops.TensorListStack, graph.Attrs{"element_dtype": like.dtype, "num_elements": int64(-1)}, list, element)
	y.four = like.four
	if rank := like.rank(); rank >= 0 && y.rank() < 0 {
		dims := []onnx.Dim{{Size: -1}}
		for _, n := range like.dims() {
			dims = append(dims, onnx.Dim{Size: n})
		}
		y.known = b.t.assumed(onnx.Value{Name: y.out.Node.Name, Dims: dims})
	}
	return y
}

// either returns what is known about a value that is a or b.
func (t *translation) either(name string, a, b *value) (p probes) {
	u, v := a.dims(), b.dims()
	if u == nil || v == nil || len(u) != len(v) {
		return p
	}
	dims := make([]onnx.Dim, len(u))
	for i := range u {
		if dims[i].Size = u[i]; u[i] != v[i] {
			dims[i].Size = -1
		}
	}
	return t.assumed(onnx.Value{Name: name, Dims: dims})
}
