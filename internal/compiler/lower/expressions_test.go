package lower

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// ownOp is an op of another package with one operand, as models/ops has them.
type ownOp struct {
	name   string
	dims   int
	shape  gtensor.Shape // of the result; nil: the operand's
	lower  func(e *Emitter, in []Value) ([]Value, error)
	second int // OutputIndex, where selector
}

func (o *ownOp) Arity() int { return 1 }
func (o *ownOp) Type() hm.Type {
	in, out := G.TensorType{Dims: o.dims, Of: gtensor.Float32}, G.TensorType{Dims: o.dims, Of: gtensor.Float32}
	if o.shape != nil {
		out.Dims = len(o.shape)
	}
	return hm.NewFnType(in, out)
}
func (o *ownOp) InferShape(in ...G.DimSizer) (gtensor.Shape, error) {
	if o.shape != nil {
		return o.shape.Clone(), nil
	}
	return in[0].(gtensor.Shape).Clone(), nil
}
func (o *ownOp) Do(...G.Value) (G.Value, error) { return nil, errors.New("not run by Gorgonia") }
func (o *ownOp) ReturnsPtr() bool               { return true }
func (o *ownOp) CallsExtern() bool              { return false }
func (o *ownOp) OverwritesInput() int           { return -1 }
func (o *ownOp) WriteHash(h hash.Hash)          { fmt.Fprintf(h, "%s %p", o.name, o) }
func (o *ownOp) Hashcode() uint32               { h := fnv.New32a(); o.WriteHash(h); return h.Sum32() }
func (o *ownOp) String() string                 { return o.name }
func (o *ownOp) Lower(e *Emitter, in []Value) ([]Value, error) {
	return o.lower(e, in)
}

// ownSelector stands for another output of its operand.
type ownSelector struct{ ownOp }

func (o *ownSelector) OutputIndex() int { return o.second }

func input(g *G.ExprGraph, name string, shape ...int) *G.Node {
	return G.NewTensor(g, gtensor.Float32, len(shape), G.WithName(name), G.WithShape(shape...))
}

// leaves binds nodes to placeholders of their names.
func leaves(b *graph.Builder, nodes ...*G.Node) map[*G.Node]graph.Output {
	m := map[*G.Node]graph.Output{}
	for _, n := range nodes {
		t, _ := typeOf(n)
		m[n] = b.Placeholder(n.Name(), t)
	}
	return m
}

func apply(t *testing.T, op G.Op, in ...*G.Node) *G.Node {
	t.Helper()
	n, err := G.ApplyOp(op, in...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func must(t *testing.T) func(*G.Node, error) *G.Node {
	return func(n *G.Node, err error) *G.Node {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

func TestOwnOpsAndSelectors(t *testing.T) {
	g := G.NewGraph()
	x := input(g, "x", 3, 4)
	both := apply(t, &ownOp{name: "both", dims: 2, lower: func(e *Emitter, in []Value) ([]Value, error) {
		if e.Seed != 7 || e.GlobalStep().Node.Name != "step" || e.Out.Shape.String() != "[3,4]" {
			t.Errorf("emitter: seed %d, step %v, out %v", e.Seed, e.GlobalStep(), e.Out)
		}
		n := e.Node("TwoOutputs", e.Name, []graph.Type{e.Out, {DType: tensor.Float32, Shape: graph.ShapeOf(3)}}, nil, in[0].Output)
		return []Value{{Output: n.Out(0)}, {Output: n.Out(1)}}, nil
	}}, x)
	second := apply(t, &ownSelector{ownOp{name: "second", dims: 2, shape: gtensor.Shape{3}, second: 1}}, both)
	b := graph.NewBuilder(graph.New())
	m := leaves(b, x)
	values, err := Expressions(b, Options{Seed: 7, GlobalStep: b.Placeholder("step", graph.Type{DType: tensor.Int64}),
		NameOf: func(*G.Node) string { return "scope/both" }}, []*G.Node{second, both}, m)
	if err != nil {
		t.Fatal(err)
	}
	if values[0].String() != "scope/both:1" || values[1].String() != "scope/both:0" {
		t.Errorf("got %v and %v, want outputs 1 and 0 of scope/both", values[0], values[1])
	}
}

func TestOwnOpsAreChecked(t *testing.T) {
	for want, lower := range map[string]func(e *Emitter, in []Value) ([]Value, error){
		"expected float32 [3,4]": func(e *Emitter, in []Value) ([]Value, error) {
			return []Value{{Output: e.Op("Sum", "s", graph.Type{DType: tensor.Float32}, nil, in[0].Output)}}, nil
		},
		"gave no value": func(*Emitter, []Value) ([]Value, error) { return nil, nil },
		"no luck":       func(*Emitter, []Value) ([]Value, error) { return nil, errors.New("no luck") },
		"has no value": func(e *Emitter, _ []Value) ([]Value, error) {
			e.Op("A", "a", e.Out, nil, graph.Output{})
			return nil, nil
		},
		"odd #1 (3, 4)":   func(*Emitter, []Value) ([]Value, error) { return nil, errors.New("named") },
		"op *lower.ownOp": func(*Emitter, []Value) ([]Value, error) { return []Value{{}}, nil },
	} {
		g := G.NewGraph()
		x := input(g, "x", 3, 4)
		n := must(t)(G.ApplyOpWithName(&ownOp{name: "odd", dims: 2, lower: lower}, "odd", x))
		b := graph.NewBuilder(graph.New())
		if _, err := Expressions(b, Options{}, []*G.Node{n}, leaves(b, x)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

// sparse returns an op whose value is rows of a gradient of its operand.
func sparse(rows *tensor.Tensor, ids ...int32) *ownOp {
	return &ownOp{name: "sparse", dims: 2, lower: func(e *Emitter, in []Value) ([]Value, error) {
		idx, _ := tensor.FromSlice(ids, len(ids))
		return []Value{SparseValue(e.Out.Shape, Slices{Rows: e.Const("rows", rows), Indices: e.Const("ids", idx)})}, nil
	}}
}

func TestSparseValues(t *testing.T) {
	g := G.NewGraph()
	x := input(g, "x", 4, 2)
	r1, _ := tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	r2, _ := tensor.FromSlice([]float32{10, 20}, 1, 2)
	a, c := apply(t, sparse(r1, 3, 1), x), apply(t, sparse(r2, 3), x)
	sum := must(t)(G.Add(a, c))
	mixed := must(t)(G.Add(sum, x))
	seen := apply(t, &ownOp{name: "dense", dims: 2, lower: func(e *Emitter, in []Value) ([]Value, error) {
		if in[0].Sparse() {
			t.Error("an Op got a sparse operand")
		}
		return in, nil
	}}, sum)
	b := graph.NewBuilder(graph.New())
	values, err := Expressions(b, Options{}, []*G.Node{sum, mixed, seen}, leaves(b, x))
	if err != nil {
		t.Fatal(err)
	}
	p := &interp{feeds: map[string]array{"x": {[]int{4, 2}, []float64{0, 0, 0, 0, 0, 0, 100, 0}}}, memo: map[graph.Output]array{}}
	if len(values[0].Slices) != 2 || values[0].Shape().String() != "[4,2]" {
		t.Fatalf("sum of sparse: %v, expected two lookups of [4,2]", values[0])
	}
	if joined := Join(b, "", values[0]).Slices[0]; !slices.Equal(p.eval(joined.Indices).v, []float64{3, 1, 3}) || !slices.Equal(p.eval(joined.Rows).v, []float64{1, 2, 3, 4, 10, 20}) {
		t.Errorf("sum of sparse: indices %v rows %v", p.eval(joined.Indices), p.eval(joined.Rows))
	}
	if got := p.eval(values[1].Output).v; !slices.Equal(got, []float64{0, 0, 3, 4, 0, 0, 111, 22}) {
		t.Errorf("sparse + dense: %v", got)
	}
	if got := p.eval(values[2].Output).v; !slices.Equal(got, []float64{0, 0, 3, 4, 0, 0, 11, 22}) {
		t.Errorf("sparse made dense: %v", got)
	}
}

func TestByIndicesIsSparse(t *testing.T) {
	g := G.NewGraph()
	table := input(g, "table", 5, 2)
	ids := G.NewTensor(g, gtensor.Int, 1, G.WithName("ids"), G.WithShape(3))
	y := must(t)(G.ByIndices(table, ids, 0))
	loss := must(t)(G.Sum(must(t)(G.Square(y))))
	grads, err := G.Grad(loss, table)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	values, err := Expressions(b, Options{}, append(G.Nodes{y}, grads...), leaves(b, table, ids))
	if err != nil {
		t.Fatal(err)
	}
	if !values[1].Sparse() || values[1].Dense.String() != "[5,2]" {
		t.Fatalf("gradient of the table: %v, want rows of [5,2]", values[1])
	}
	p := &interp{feeds: map[string]array{"table": {[]int{5, 2}, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}, "ids": {[]int{3}, []float64{4, 0, 4}}}, memo: map[graph.Output]array{}}
	if got := p.eval(values[0].Output).v; !slices.Equal(got, []float64{8, 9, 0, 1, 8, 9}) {
		t.Errorf("rows %v", got)
	}
	if got := p.eval(Densify(b, "", values[1])).v; !slices.Equal(got, []float64{0, 2, 0, 0, 0, 0, 0, 0, 32, 36}) {
		t.Errorf("gradient %v", got)
	}
}

func TestDeepGraph(t *testing.T) {
	g := G.NewGraph()
	x := input(g, "x", 2)
	n := x
	for range 5000 {
		n = must(t)(G.Tanh(n))
	}
	b := graph.NewBuilder(graph.New())
	if _, err := Expressions(b, Options{}, []*G.Node{n}, leaves(b, x)); err != nil {
		t.Fatal(err)
	}
	if got := len(b.Graph.Nodes()); got != 5001 {
		t.Errorf("%d nodes, want 5001", got)
	}
}

func TestCutAndUnboundLeaves(t *testing.T) {
	g := G.NewGraph()
	x, y := input(g, "x", 2), input(g, "lonely", 2)
	inner := must(t)(G.Add(x, y))
	root := must(t)(G.Neg(inner))
	b := graph.NewBuilder(graph.New())
	var leaf *LeafError
	if _, err := Expressions(b, Options{}, []*G.Node{root}, leaves(b, x)); !errors.As(err, &leaf) || leaf.Node != "lonely" || !strings.Contains(err.Error(), "mc.Variable") {
		t.Errorf("got %v, want a LeafError about lonely", err)
	}
	b = graph.NewBuilder(graph.New())
	cut := b.Placeholder("cut", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(2)})
	if _, err := Expressions(b, Options{}, []*G.Node{root}, map[*G.Node]graph.Output{inner: cut}); err != nil {
		t.Errorf("cut at an inner node: %v", err)
	}
}

func TestLeavesHaveBuildTimeShapes(t *testing.T) {
	g := G.NewGraph()
	x := input(g, "x", 2)
	b := graph.NewBuilder(graph.New())
	symbolic := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf()})
	_, err := Expressions(b, Options{}, []*G.Node{x}, map[*G.Node]graph.Output{x: symbolic})
	if err == nil || !strings.Contains(err.Error(), "build-time shape [2]") {
		t.Errorf("got %v, want an error about the shape", err)
	}
	if _, err := Expressions(b, Options{}, []*G.Node{nil}, nil); err == nil {
		t.Error("a nil root: expected an error")
	}
}

// TestSameNodesTwice: lowering is a function of the construction, node for node.
func TestSameNodesTwice(t *testing.T) {
	lowered := func() string {
		c := opCases[slices.IndexFunc(opCases, func(c opCase) bool { return c.name == "conv of conv" })]
		g := c.fixture(t, rand.New(rand.NewPCG(1, 1))).lowered(t)[0]
		all := graph.New()
		for n := range graph.Reachable(g.Node) {
			_ = all.Add(n)
		}
		sorted, err := graph.Sort(all)
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, n := range sorted {
			s = append(s, fmt.Sprint(n.Name, n.Op, n.Inputs, n.Outputs))
		}
		slices.Sort(s)
		return strings.Join(s, "\n")
	}
	if a, b := lowered(), lowered(); a != b {
		t.Errorf("%s\n\nand\n\n%s", a, b)
	}
}
