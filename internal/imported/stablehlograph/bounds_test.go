package stablehlograph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

var float = stablehlo.Type{Kind: stablehlo.Tensor, Name: "f32", DType: tensor.Float32, Dims: []int{}}

// op makes an operation on floats.
func op(name string, attrs map[string]any, results int, in ...*stablehlo.Value) *stablehlo.Op {
	o := &stablehlo.Op{Name: name, Dialect: "vhlo", Attrs: attrs, Operands: in}
	for range results {
		o.Results = append(o.Results, &stablehlo.Value{Type: float})
	}
	return o
}

// returning makes a region that returns its last operation's results.
func returning(args []*stablehlo.Value, all ...*stablehlo.Op) *stablehlo.Region {
	return &stablehlo.Region{Args: args, Ops: append(all, op("return", nil, 0, all[len(all)-1].Results...))}
}

// calling is a function that calls another one n times, each time with the previous result.
func calling(name, callee string, n int) *stablehlo.Function {
	x := &stablehlo.Value{Type: float}
	var all []*stablehlo.Op
	last := x
	for range n {
		all = append(all, op("call", map[string]any{"callee": callee}, 1, last))
		last = all[len(all)-1].Results[0]
	}
	return &stablehlo.Function{Name: name, Body: returning([]*stablehlo.Value{x}, all...)}
}

// lowered translates a module from a float to a float, and returns what is missing.
func lowered(t *testing.T, a *account, all ...*stablehlo.Function) (missing []Gap) {
	types := &attrValue{Value: &attr_value_go_proto.AttrValue_List{List: &attr_value_go_proto.AttrValue_ListValue{Type: []types_go_proto.DataType{types_go_proto.DataType_DT_FLOAT}}}}
	tr := newTranslation(t.Context(), "module", a)
	for _, f := range all {
		tr.functions[f.Name] = f
	}
	defer func() {
		if why, ok := recover().(refusal); ok {
			tr.gaps.add("module", why.why)
		}
		for g := range tr.gaps {
			missing = append(missing, g)
		}
	}()
	tr.main(&nodeDef{Name: "node", Attr: map[string]*attrValue{"Tin": types, "Tout": types}}, "module")
	return nil
}

// Small modules that become large, or take long, are refused.
func TestBounds(t *testing.T) {
	testkit.NotConcurrent(t)
	x := &stablehlo.Value{Type: float}
	args := []*stablehlo.Value{x}
	negated := op("negate", nil, 1, x)
	leaf := &stablehlo.Function{Name: "leaf", Body: returning(args, negated)}

	towers := []*stablehlo.Function{leaf}
	for i := range 30 {
		callee := fmt.Sprintf("tower_%d", i-1)
		if i == 0 {
			callee = "leaf"
		}
		towers = append(towers, calling(fmt.Sprintf("tower_%d", i), callee, 4))
	}
	towers = append(towers, calling("main", "tower_29", 1))

	// Values that are passed on count too, although they make no node.
	const wide = 1 << 14
	many := make([]*stablehlo.Value, wide)
	for i := range many {
		many[i] = x
	}
	barrier := op("optimization_barrier", nil, wide, many...)
	sum := op("add", nil, 1, barrier.Results[0], barrier.Results[wide-1])
	barriers := &stablehlo.Function{Name: "barriers", Body: returning(args, barrier, sum)}

	// Each branch gets the values of the outer graph that any branch needs.
	var outer []*stablehlo.Op
	for range 2000 {
		outer = append(outer, op("negate", nil, 1, x))
	}
	branch := []*stablehlo.Op{op("negate", nil, 1, x)}
	for _, o := range outer {
		branch = append(branch, op("add", nil, 1, branch[len(branch)-1].Results[0], o.Results[0]))
	}
	which := op("convert", nil, 1, x)
	which.Results[0].Type.Name, which.Results[0].Type.DType = "si32", tensor.Int32
	split := op("case", nil, 1, which.Results[0])
	split.Regions = append(split.Regions, returning(nil, branch...))
	for range 4000 {
		split.Regions = append(split.Regions, returning(nil, op("negate", nil, 1, x)))
	}

	// An attribute that holds another one twice, and so on, 60 levels deep.
	tree := []any{}
	for range 60 {
		tree = []any{tree, tree}
	}
	top := op("custom_call", map[string]any{"call_target_name": "mhlo.topk", "mhlo.attributes": map[string]any{"k": tree}}, 1, x)
	// Factorizations number the rows and columns of matrices, whose sizes take no bytes in a module.
	factorized := func(name string, rows, columns int) []*stablehlo.Op {
		matrix := typed(op("broadcast_in_dim", map[string]any{"broadcast_dimensions": []any{}}, 1, x), "f32", tensor.Float32, rows, columns)
		factors := typed(op("broadcast_in_dim", map[string]any{"broadcast_dimensions": []any{}}, 1, x), "f32", tensor.Float32, 2)
		call := op("custom_call", map[string]any{"call_target_name": "lapack_" + name + "_ffi"}, 1, matrix.Results[0], factors.Results[0])
		return []*stablehlo.Op{matrix, factors, typed(call, "f32", tensor.Float32, rows, columns), op("negate", nil, 1, x)}
	}

	turned := op("transpose", map[string]any{"permutation": make([]any, maxList+1)}, 1, x)

	// Nested loops: each tries to find its number of iterations.
	truth := stablehlo.Type{Kind: stablehlo.Tensor, Name: "i1", DType: tensor.Bool, Dims: []int{}}
	nest := returning([]*stablehlo.Value{x}, op("negate", nil, 1, x))
	for range 30 {
		y := &stablehlo.Value{Type: float}
		always := op("constant", map[string]any{"value": &stablehlo.Constant{Type: truth, Bytes: []byte{1}}}, 1)
		always.Results[0].Type = truth
		loop := op("while", nil, 1, y)
		loop.Regions = []*stablehlo.Region{returning([]*stablehlo.Value{{Type: float}}, always), nest}
		nest = returning([]*stablehlo.Value{y}, loop)
	}

	for name, c := range map[string]struct {
		functions []*stablehlo.Function
		text      string
	}{
		"loops":    {[]*stablehlo.Function{{Name: "main", Body: nest}}, "more operations than there may be"},
		"one":      {[]*stablehlo.Function{{Name: "main", Body: leaf.Body}}, ""},
		"calls":    {[]*stablehlo.Function{leaf, calling("main", "leaf", 100)}, ""},
		"towers":   {towers, "more operations than there may be"},
		"itself":   {[]*stablehlo.Function{calling("main", "main", 2)}, "calls of functions lie in each other"},
		"wide":     {[]*stablehlo.Function{barriers, calling("main", "barriers", 100)}, "more operations than there may be"},
		"tree":     {[]*stablehlo.Function{{Name: "main", Body: returning(args, top)}}, "attributes k and largest"},
		"list":     {[]*stablehlo.Function{{Name: "main", Body: returning(args, turned)}}, "attribute permutation of 513 numbers: expected at most 512"},
		"rows":     {[]*stablehlo.Function{{Name: "main", Body: returning(args, factorized("sgeqrf", 1<<60, 2)...)}}, "expected at most 268435456"},
		"numbers":  {[]*stablehlo.Function{{Name: "main", Body: returning(args, factorized("sgetrf", 2, maxSide)...)}}, "more constants than there may be"},
		"identity": {[]*stablehlo.Function{{Name: "main", Body: returning(args, factorized("dorgqr", 1<<14, 1<<14)...)}}, "more constants than there may be"},
		"branches": {[]*stablehlo.Function{{Name: "main", Body: returning(args, append(outer, which, split)...)}}, "more nodes than there may be"},
	} {
		missing := lowered(t, newAccount(0), c.functions...)
		found := c.text == "" && len(missing) == 0
		for _, g := range missing {
			found = found || c.text != "" && strings.Contains(g.Why, c.text)
		}
		if !found {
			t.Errorf("%s: got %v, expected %q", name, missing, c.text)
		}
	}
}

// All modules of a graph share one account.
func TestModulesShareBounds(t *testing.T) {
	testkit.NotConcurrent(t)
	x := &stablehlo.Value{Type: float}
	all := []*stablehlo.Function{calling("main", "f", 1000), calling("f", "g", 100), {Name: "g", Body: returning([]*stablehlo.Value{x}, op("negate", nil, 1, x))}}
	a, again := newAccount(0), 0
	for len(lowered(t, a, all...)) == 0 && again < 10 {
		again++
	}
	if again != 1 {
		t.Errorf("a module that takes more than half of what there is went well %d times", again)
	}
	if missing := lowered(t, newAccount(minOperations), all...); len(missing) > 0 {
		t.Errorf("got %v where there are more bytes", missing)
	}
}

// TestLoopsThatFit: loops are unrolled while that takes only part of the budget; other loops stay, and take little.
func TestLoopsThatFit(t *testing.T) {
	integer := stablehlo.Type{Kind: stablehlo.Tensor, Name: "i32", DType: tensor.Int32, Dims: []int{}}
	number := func(n byte) *stablehlo.Op {
		return typed(op("constant", map[string]any{"value": &stablehlo.Constant{Type: integer, Bytes: []byte{n, 0, 0, 0}}}, 1), "i32", tensor.Int32)
	}
	count := func(from, of *stablehlo.Value) *stablehlo.Op { // 20 iterations of 40 operations
		i, x := &stablehlo.Value{Type: integer}, &stablehlo.Value{Type: float}
		most, one := number(20), number(1)
		less := typed(op("compare", map[string]any{"comparison_direction": stablehlo.Enum("LT")}, 1, i, most.Results[0]), "i1", tensor.Bool)
		next := typed(op("add", nil, 1, i, one.Results[0]), "i32", tensor.Int32)
		body := []*stablehlo.Op{one, next}
		last := x
		for range 40 {
			body = append(body, op("negate", nil, 1, last))
			last = body[len(body)-1].Results[0]
		}
		loop := op("while", nil, 2, from, of)
		loop.Results[0].Type = integer
		step := &stablehlo.Region{Args: []*stablehlo.Value{i, x}, Ops: append(body, op("return", nil, 0, next.Results[0], last))}
		loop.Regions = []*stablehlo.Region{returning([]*stablehlo.Value{i, x}, most, less), step}
		return loop
	}
	x := &stablehlo.Value{Type: float}
	var all []*stablehlo.Op
	last := x
	for range 5 {
		zero := number(0)
		loop := count(zero.Results[0], last)
		all = append(all, zero, loop)
		last = loop.Results[1]
	}
	all = append(all, op("negate", nil, 1, last))
	main := &stablehlo.Function{Name: "main", Body: returning([]*stablehlo.Value{x}, all...)}
	for _, a := range []*account{{12_000, minOperations, minRoom}, {minOperations, 10_000, minRoom}} {
		before := *a
		if missing := lowered(t, a, main); len(missing) > 0 {
			t.Errorf("%+v: got %v", before, missing)
		}
		if before.nodes-a.nodes < 3000 { // 2532 if all stay loops
			t.Errorf("%+v: no loop is unrolled: %+v", before, *a)
		}
	}
}

// typed gives an operation's results a type.
func typed(o *stablehlo.Op, name string, d tensor.DType, dims ...int) *stablehlo.Op {
	for _, r := range o.Results {
		r.Type = stablehlo.Type{Kind: stablehlo.Tensor, Name: name, DType: d, Dims: dims}
	}
	return o
}

// Regions that define no order, or an order other than by keys, are refused: sorting by them would be wrong.
func TestOrders(t *testing.T) {
	less := func(a, b *stablehlo.Value) *stablehlo.Op {
		return typed(op("compare", map[string]any{"comparison_direction": stablehlo.Enum("LT")}, 1, a, b), "i1", tensor.Bool)
	}
	apply := func(name string, v ...*stablehlo.Value) *stablehlo.Op {
		o := op(name, nil, 1, v...)
		o.Results[0].Type = v[0].Type
		return o
	}
	for name, c := range map[string]struct {
		region func(a, b, c, d *stablehlo.Value) []*stablehlo.Op
		text   string
	}{
		"first": {func(a, b, c, d *stablehlo.Value) []*stablehlo.Op { return []*stablehlo.Op{less(a, b)} }, ""},
		"sizes": {func(a, b, c, d *stablehlo.Value) []*stablehlo.Op {
			u, w := apply("abs", a), apply("abs", b)
			return []*stablehlo.Op{u, w, less(u.Results[0], w.Results[0])}
		}, "an order of another kind"},
		"either": {func(a, b, c, d *stablehlo.Value) []*stablehlo.Op {
			u, w := less(a, b), less(c, d)
			return []*stablehlo.Op{u, w, apply("or", u.Results[0], w.Results[0])}
		}, "no order of several keys"},
		"none": {func(a, b, c, d *stablehlo.Value) []*stablehlo.Op {
			u, w := less(a, b), less(b, a)
			return []*stablehlo.Op{u, w, apply("or", u.Results[0], w.Results[0])}
		}, "no order"},
	} {
		x := &stablehlo.Value{Type: float}
		n := typed(op("convert", nil, 1, x), "si32", tensor.Int32)
		list := typed(op("broadcast_in_dim", map[string]any{"broadcast_dimensions": []any{}}, 1, n.Results[0]), "si32", tensor.Int32, 4)
		sort := typed(op("sort", map[string]any{"dimension": int64(0)}, 2, list.Results[0], list.Results[0]), "si32", tensor.Int32, 4)
		args := make([]*stablehlo.Value, 4)
		for i := range args {
			args[i] = &stablehlo.Value{Type: n.Results[0].Type}
		}
		sort.Regions = []*stablehlo.Region{returning(args, c.region(args[0], args[1], args[2], args[3])...)}
		missing := lowered(t, newAccount(0), &stablehlo.Function{Name: "main", Body: returning([]*stablehlo.Value{x}, n, list, sort, op("negate", nil, 1, x))})
		if c.text == "" && len(missing) > 0 || c.text != "" && (len(missing) != 1 || missing[0].Op != "stablehlo.sort" || !strings.Contains(missing[0].Why, c.text)) {
			t.Errorf("%s: got %v, expected %q", name, missing, c.text)
		}
	}
}
