package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// inside returns the operation's site in a new graph, for a function.
func (x *site) inside() *site {
	b := x.t.builder(x.builder)
	b.name = x.name
	return &site{builder: b, op: x.op, scope: x.scope.inner(b)}
}

// arguments makes an argument for each value, of the same type.
func (b *builder) arguments(of []*value) []*value {
	args := make([]*value, len(of))
	for i, v := range of {
		args[i] = b.placeholder(v.dtype, v.dims)
	}
	return args
}

// share makes all graphs take the values that any of them captured, in one order, and returns these values.
func share(all ...*site) []*value {
	var shared []*value
	seen := map[identity]bool{}
	for _, x := range all {
		for _, v := range x.args {
			if !seen[v.identity()] {
				seen[v.identity()] = true
				shared = append(shared, v)
			}
		}
	}
	for _, x := range all {
		have := map[identity]*graph.Node{}
		for i, v := range x.args {
			have[v.identity()] = x.nodes[i]
		}
		nodes := make([]*graph.Node, len(shared))
		for i, v := range shared {
			if nodes[i] = have[v.identity()]; nodes[i] == nil {
				nodes[i] = x.placeholder(v.dtype, v.dims).out.Node
			}
		}
		x.args, x.nodes = shared, nodes
	}
	return shared
}

// condition and body get the current values of a loop: condition returns whether to continue, body the next values.
type (
	condition func(x *site, now []*value) *value
	body      func(x *site, now []*value) []*value
)

// A loop is unrolled if it is known to have at most maxRounds iterations, which make at most maxRoundNodes nodes, with their inputs and
// results, and leave at least half of the account.
const (
	maxRounds     = 64
	maxRoundNodes = 1 << 14
)

// rounds unrolls a loop, since compiled programs have no loops. It returns false if there are too many iterations, or only a request
// decides their number.
func (x *site) rounds(first []*value, cond condition, body body) (now []*value, ok bool) {
	now = first
	for n := range maxRounds + 1 {
		more, ok := x.goesOn(cond, now)
		if !ok || !more {
			return now, ok
		}
		before := *x.t.account
		next := body(x.again(), now)
		sameTypes(now, next)
		if took := before.since(x.t.account); n == 0 && !x.t.affords(x.expected(cond, now, next), took) {
			return nil, false
		}
		now = next
	}
	return nil, false
}

// again returns a new site, to translate a region once more.
func (x *site) again() *site {
	return &site{builder: x.builder, op: x.op, scope: x.scope.inner(x.builder)}
}

// goesOn reports whether a condition holds for values; not ok: only a request decides.
func (x *site) goesOn(cond condition, now []*value) (more, ok bool) {
	y := cond(x.again(), now)
	return y.t != nil && y.t.Int(0) != 0, y.t != nil
}

// expected returns the number of iterations if integers keep changing as in the first one, and more than maxRounds if it is not known.
func (x *site) expected(cond condition, first, next []*value) int {
	for n := 1; n <= maxRounds; n++ {
		now := slices.Clone(next)
		for i, v := range next {
			a, known := first[i].numbers()
			if b, ok := v.numbers(); ok && known && v.rank() == 0 {
				now[i] = scalar(v.dtype, float64(a[0]+n*(b[0]-a[0])))
			}
		}
		if more, ok := x.goesOn(cond, now); ok && !more {
			return n
		}
	}
	return maxRounds + 1
}

// sameTypes refuses a body that changes the types of values.
func sameTypes(first, next []*value) {
	if len(next) != len(first) {
		refuse("a body of %d results for %d values", len(next), len(first))
	}
	for i, v := range next {
		if v.dtype != first[i].dtype {
			refuse("value %d of the loop is %v and becomes %v", i, first[i].dtype, v.dtype)
		}
	}
}

// loop runs a body while a condition holds.
func (x *site) loop(first []*value, cond condition, body body) []*value {
	if out, ok := x.rounds(first, cond, body); ok {
		return out
	}
	for i, v := range first {
		first[i] = x.own(x.whole(v))
	}
	test, step := x.inside(), x.inside()
	testArgs, stepArgs := test.arguments(first), step.arguments(first)
	more := test.own(test.whole(cond(test, testArgs)))
	next := body(step, stepArgs)
	sameTypes(first, next)
	for i, v := range next {
		next[i] = step.own(step.whole(v)) // this may capture
	}
	shared := share(test, step)
	for _, n := range step.nodes {
		next = append(next, &value{out: n.Out(0)})
	}
	attrs := graph.Attrs{"cond": graph.Func{Name: test.function("cond", testArgs, []*value{more})}, "body": graph.Func{Name: step.function("body", stepArgs, next)}}
	dims := make([][]int, len(first))
	for i, v := range first {
		dims[i] = v.dims
	}
	return x.several(ops.StatelessWhile, dims, attrs, slices.Concat(first, shared)...)[:len(first)]
}

// while has a condition region, and a region that computes the next values.
func while(x *site) []*value {
	if len(x.op.Results) != len(x.in) {
		refuse("%d values and %d results", len(x.in), len(x.op.Results))
	}
	tokens := x.withoutTokens()
	first := make([]*value, 0, len(tokens.in))
	for i, v := range x.in {
		if v != noToken { // open sizes may change, even if they are known at first
			w := *x.whole(v)
			w.dims = x.result(i).Dims
			first = append(first, &w)
		}
	}
	out := x.loop(first, func(x *site, now []*value) *value {
		out := x.scope.results(x.region(0), tokens.all(now))
		if len(out) != 1 || out[0].dtype != tensor.Bool {
			refuse("a condition that is no bool")
		}
		return out[0]
	}, func(x *site, now []*value) []*value {
		return tokens.drop(x.scope.results(x.region(1), tokens.all(now)))
	})
	return tokens.all(out)
}

// tokens says which operands are tokens, which are not tensors but order side effects.
type tokens struct {
	in []*value
	is []bool
}

// noToken is the value of all tokens.
var noToken = &value{}

func (x *site) withoutTokens() tokens {
	t := tokens{}
	for _, v := range x.in {
		t.is = append(t.is, v == noToken)
	}
	t.in = t.drop(x.in)
	return t
}

// all inserts the tokens.
func (t tokens) all(in []*value) (out []*value) {
	for _, is := range t.is {
		if is {
			out = append(out, noToken)
			continue
		}
		out = append(out, in[0])
		in = in[1:]
	}
	return out
}

// drop removes the tokens.
func (t tokens) drop(in []*value) (out []*value) {
	if len(in) != len(t.is) {
		refuse("%d values for %d", len(in), len(t.is))
	}
	for i, v := range in {
		if !t.is[i] {
			out = append(out, v)
		}
	}
	return out
}

// branches runs one of several regions. The operand is a bool, with the first region for true, or the index of a region, with the last one
// for all other numbers. If it is known, only that region is translated.
func branches(x *site) []*value {
	all := len(x.op.Regions)
	if all == 0 {
		refuse("no regions")
	}
	v := x.at(0)
	number := v
	if v.dtype == tensor.Bool {
		number = x.each(ops.SelectV2, nil, v, scalar(tensor.Int32, 0), scalar(tensor.Int32, 1))
	}
	if k, ok := number.numbers(); ok && len(k) == 1 {
		i := k[0]
		if i < 0 || i >= all {
			i = all - 1
		}
		return x.scope.inner(x.builder).results(x.region(i), nil)
	}
	var sites []*site
	var results [][]*value
	for i := range all {
		b := x.inside()
		out := b.scope.results(x.region(i), nil)
		if len(out) != len(x.op.Results) {
			refuse("region %d has %d results: expected %d", i, len(out), len(x.op.Results))
		}
		for k, r := range out {
			if out[k] = b.own(b.whole(r)); out[k].dtype != x.result(k).DType {
				refuse("result %d of region %d is %v: expected %v", k, i, out[k].dtype, x.result(k).DType)
			}
		}
		sites, results = append(sites, b), append(results, out)
	}
	shared := share(sites...)
	var names []graph.Func
	for i, b := range sites {
		names = append(names, graph.Func{Name: b.function("branch", nil, results[i])})
	}
	var types []tensor.DType
	var dims [][]int
	for i := range x.op.Results {
		types, dims = append(types, x.result(i).DType), append(dims, x.result(i).Dims)
	}
	outside := x.each(ops.LogicalOr, nil, x.each(ops.Less, nil, number, scalar(tensor.Int32, 0)), x.each(ops.GreaterEqual, nil, number, scalar(tensor.Int32, float64(all))))
	number = x.each(ops.SelectV2, nil, outside, scalar(tensor.Int32, float64(all-1)), number)
	return x.several(ops.StatelessCase, dims, graph.Attrs{"branches": names, "Tout": types}, append([]*value{number}, shared...)...)
}

// callFunction inlines the function.
func callFunction(x *site) []*value {
	name, _ := x.op.Attrs["callee"].(string)
	return x.called(name, x.in)
}

func (x *site) called(name string, in []*value) []*value {
	f := x.t.functions[name]
	if f == nil {
		refuse("function %q is missing", name)
	}
	if x.t.depth++; x.t.depth > maxCalls {
		refuse("calls of functions lie in each other: expected at most %d", maxCalls)
	}
	defer func() { x.t.depth-- }()
	s := &scope{t: x.t, b: x.builder, values: map[*stablehlo.Value]*value{}, each: x.scope.each}
	return s.results(f.Body, in)
}

func passOn(x *site) []*value { return x.in }

func token(x *site) []*value { return []*value{noToken} }
