package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// controlOperators run subgraphs.
func controlOperators() operators {
	return operators{"If": as(branch), "Loop": as(loop), "Scan": as(scan).but("before version 9")}
}

// graphOf returns an attribute that is a graph.
func (x *site) graphOf(name string) *onnx.Graph {
	g := attribute[*onnx.Graph](x, name, nil)
	if g == nil {
		refuse("attribute %s is missing", name)
	}
	return g
}

// results translates a graph with the given inputs, and returns its results. Gaps in it are noted like all others.
func (x *site) results(g *onnx.Graph, in []*value) []*value {
	if len(in) != len(g.Inputs) {
		refuse("its graph has %d inputs: expected %d", len(g.Inputs), len(in))
	}
	name := x.name
	defer func() { x.builder.name = name }()
	x.scope.initializers(g)
	for i, v := range in {
		x.scope.define(g.Inputs[i].Name, v)
	}
	x.scope.run(g.Nodes)
	var out []*value
	for _, o := range g.Outputs {
		v, err := x.scope.find(o.Name)
		if err != nil {
			refuse("output %v", err)
		}
		if v == nil {
			panic(refusal{}) // what is missing is noted already
		}
		out = append(out, v)
	}
	return out
}

// tried is results for a graph without inputs; it returns false if something is missing, which is then noted.
func (x *site) tried(g *onnx.Graph) (out []*value, found bool) {
	defer func() {
		if r := recover(); r != nil {
			if why, ok := r.(refusal); !ok || why.why != "" {
				panic(r)
			}
			out, found = nil, false
		}
	}()
	return x.results(g, nil), true
}

// branch runs one of two graphs; if it is known which one, only that one is translated.
func branch(x *site) []*value {
	yes, no := x.graphOf("then_branch"), x.graphOf("else_branch")
	cond := x.at(0)
	if c, ok := constantOf(cond); ok {
		g := no
		if c != 0 {
			g = yes
		}
		here := &site{builder: x.builder, n: x.n, version: x.version, read: x.read, scope: x.t.scope(x.builder, x.scope, x.scope.opsets)}
		here.scope.inFuncs, here.scope.attrs = x.scope.inFuncs, x.scope.attrs
		return here.results(g, nil)
	}
	then, other := x.inner(), x.inner()
	a, foundA := then.tried(yes)
	b, foundB := other.tried(no)
	if !foundA || !foundB {
		panic(refusal{}) // what is missing is noted already
	}
	if len(a) != len(b) {
		refuse("branches of %d and %d results", len(a), len(b))
	}
	var types []tensor.DType
	for i := range a {
		a[i], b[i] = then.plain(then.opened(then.own(a[i]))), other.plain(other.opened(other.own(b[i])))
		if a[i].declared() != b[i].declared() {
			refuse("branches whose results %d are %v and %v", i, a[i].declared(), b[i].declared())
		}
		types = append(types, a[i].dtype)
		then.operand(a[i], ops.RoleValue)
		other.operand(b[i], ops.RoleValue)
	}
	shared := share(then, other)
	attrs := graph.Attrs{"then_branch": graph.Func{Name: then.function("then", nil, a)}, "else_branch": graph.Func{Name: other.function("else", nil, b)}, "Tout": types}
	test := x.op(ops.Reshape, nil, cond, x.ints())
	out := x.ops(ops.StatelessIf, attrs, append([]*value{test}, shared...)...)
	for i := range out {
		out[i].known, out[i].four, out[i].list = x.t.either(out[i].out.String(), a[i], b[i]), a[i].four, a[i].list.or(b[i].list)
	}
	return out
}

// carriedAs returns what is known about a value that a loop carries: at least its rank.
func (x *site) carriedAs(first *value, said onnx.Value) probes {
	switch {
	case first.dtype == tensor.Variant:
		return probes{}
	case !said.Unranked && said.Kind == "" && said.DType != tensor.Invalid && (len(said.Dims) > 0 || first.rank() == 0):
		return x.t.assumed(said)
	}
	return x.t.assumedLike(first.rank(), x.name+" "+said.Name)
}

// loop carries values, and stacks the other results of each iteration.
func loop(x *site) []*value {
	g := x.graphOf("body")
	carried := len(x.in) - 2
	if carried < 0 || len(g.Inputs) != carried+2 || len(g.Outputs) < carried+1 {
		refuse("a body of %d inputs and %d outputs for %d values", len(g.Inputs), len(g.Outputs), carried)
	}
	first := []*value{constant(tensor.Scalar(int64(0))), constant(tensor.Scalar(true))}
	limit := constant(tensor.Scalar(int64(1<<63 - 1)))
	if x.has(0) {
		limit = x.op(ops.Reshape, nil, x.at(0), x.ints())
	}
	if x.has(1) {
		first[1] = x.op(ops.Reshape, nil, x.at(1), x.ints())
	}
	known := []probes{first[0].known, first[0].known}
	for i := range carried {
		v := x.plain(x.opened(x.any(i + 2)))
		first, known = append(first, v), append(known, x.carriedAs(v, g.Inputs[i+2]))
	}
	first = x.lasting(g, first, known)
	lists := len(g.Outputs) - 1 - carried
	for _, d := range x.stackTypes(g, 1+carried, func(x *site) []*value { return x.arguments(first, known) }) {
		first, known = append(first, x.list(d)), append(known, probes{})
	}
	made := make([]*value, lists)
	cond := func(x *site, now []*value) *value {
		return x.op(ops.LogicalAnd, nil, x.op(ops.Less, nil, now[0], limit), now[1])
	}
	out := x.loop(first, known, cond, func(x *site, now []*value) []*value {
		r := x.results(g, now[:2+carried])
		next := []*value{x.op(ops.AddV2, nil, now[0], constant(tensor.Scalar(int64(1)))), x.op(ops.Reshape, nil, r[0], x.ints())}
		for _, v := range r[1 : 1+carried] {
			next = append(next, x.opened(x.own(v)))
		}
		for i := range lists {
			made[i] = r[1+carried+i]
			next = append(next, x.append(now[2+carried+i], made[i]))
		}
		return next
	})[2:]
	for i, m := range made {
		out[carried+i] = x.stacked(out[carried+i], m)
	}
	return out
}

// stackTypes returns the types of a body's results from index from on, which are stacked. If one is not stated, as in functions, the
// body is translated to find out; in makes its inputs.
func (x *site) stackTypes(g *onnx.Graph, from int, in func(x *site) []*value) []tensor.DType {
	var types []tensor.DType
	for _, o := range g.Outputs[from:] {
		d := o.DType
		if w, four := wide[d]; four {
			d = w
		}
		types = append(types, d)
	}
	if slices.Contains(types, tensor.Invalid) {
		inner := x.inner()
		return typesOf(inner.results(g, in(inner))[from:])
	}
	return types
}

func typesOf(all []*value) []tensor.DType {
	types := make([]tensor.DType, len(all))
	for i, v := range all {
		types[i] = v.dtype
	}
	return types
}

// scan runs a graph on each slice of its inputs.
func scan(x *site) []*value {
	if x.version < 9 {
		refuse("version %d of the operator", x.version)
	}
	g, count := x.graphOf("body"), x.int("num_scan_inputs", 0)
	states := len(x.in) - count
	if count < 1 || states < 0 || len(g.Inputs) != len(x.in) || len(g.Outputs) < states {
		refuse("a body of %d inputs and %d outputs for %d states and %d slices", len(g.Inputs), len(g.Outputs), states, count)
	}
	stacks := len(g.Outputs) - states
	axes, back := x.intList("scan_input_axes", make([]int, count)), x.intList("scan_input_directions", make([]int, count))
	outAxes, outBack := x.intList("scan_output_axes", make([]int, stacks)), x.intList("scan_output_directions", make([]int, stacks))
	if len(axes) != count || len(back) != count || len(outAxes) != stacks || len(outBack) != stacks {
		refuse("axes and directions of another number than %d slices and %d stacks", count, stacks)
	}
	first, known := []*value{x.i32(0)}, []probes{x.i32(0).known}
	for i := range states {
		v := x.plain(x.at(i))
		first, known = append(first, v), append(known, x.carriedAs(v, g.Inputs[i]))
	}
	var each []*value
	for i := range count {
		axes[i] = axisOf(axes[i], x.rank(states+i))
		v := x.plain(x.at(states + i))
		if back[i] == 1 {
			v = x.op(ops.ReverseV2, nil, v, x.ints(axes[i]))
		}
		each = append(each, v)
	}
	parts := func(x *site, at *value) (in []*value) {
		for i, v := range each {
			slice := x.op(ops.GatherV2, nil, v, at, x.i32(axes[i]))
			slice.four = v.four
			in = append(in, slice)
		}
		return in
	}
	types := x.stackTypes(g, states, func(x *site) []*value {
		now := x.arguments(first, known)
		return append(now[1:], parts(x, now[0])...)
	})
	for _, d := range types {
		first, known = append(first, x.list(d)), append(known, probes{})
	}
	length := x.size(each[0], axes[0])
	made := make([]*value, stacks)
	cond := func(x *site, now []*value) *value { return x.op(ops.Less, nil, now[0], length) }
	out := x.loop(first, known, cond, func(x *site, now []*value) []*value {
		r := x.results(g, append(slices.Clone(now[1:1+states]), parts(x, now[0])...))
		next := append([]*value{x.op(ops.AddV2, nil, now[0], x.i32(1))}, r[:states]...)
		for i := range stacks {
			made[i] = r[states+i]
			next = append(next, x.append(now[1+states+i], made[i]))
		}
		return next
	})[1:]
	for i, m := range made {
		y := x.stacked(out[states+i], m)
		if outBack[i] == 1 {
			y = x.op(ops.ReverseV2, nil, y, x.ints(0))
		}
		if outAxes[i] != 0 {
			if y.rank() < 0 {
				refuse("the rank of output %d is not known", i)
			}
			y = x.transpose(y, slices.Insert(without(y.rank(), 0), axisOf(outAxes[i], y.rank()), 0))
		}
		out[states+i] = y
	}
	return out
}
