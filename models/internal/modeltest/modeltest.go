// Package modeltest builds models, lowers them and runs them in the engine, for tests
// of the packages below models.
package modeltest

import (
	"context"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// The two batch sizes at which every model is built.
const batchA, batchB = 1009, 1013

// Program is a model lowered for any batch size.
type Program struct {
	Graph     *graph.Graph
	Variables map[string]*tensor.Tensor // values that a run starts from; tests may change them

	feeds, roots []graph.Output
}

// New builds a model at two batch sizes (o.Batch is not used) and lowers the nodes
// that build returns. Inputs are fed in the order of their creation.
func New(t testing.TB, o models.Options, build func(b *models.Builder) []*G.Node) *Program {
	t.Helper()
	a, model := lowered(t, o, batchA, build)
	b, _ := lowered(t, o, batchB, build)
	g, err := graph.Unify(a.Graph, batchA, b.Graph, batchB)
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Graph: g, Variables: map[string]*tensor.Tensor{}, feeds: moved(g, a.feeds), roots: moved(g, a.roots)}
	for _, v := range model.Variables() {
		p.Variables[v.Name] = tensor.New(v.DType, v.Shape...)
		if v.Init == nil {
			continue
		}
		if err := v.Init.Init(p.Variables[v.Name], models.Key(o.Seed, v.Name)); err != nil {
			t.Fatalf("variable %s: %v", v.Name, err)
		}
	}
	return p
}

// moved finds the outputs of another graph's nodes by name.
func moved(g *graph.Graph, outs []graph.Output) []graph.Output {
	var to []graph.Output
	for _, o := range outs {
		to = append(to, g.Node(o.Node.Name).Out(o.Index))
	}
	return to
}

func lowered(t testing.TB, o models.Options, rows int, build func(b *models.Builder) []*G.Node) (*Program, *models.Builder) {
	t.Helper()
	o.Batch = rows
	var roots []*G.Node
	b, err := models.Build(o, func(b *models.Builder) error { roots = build(b); return nil })
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Graph: graph.New()}
	gb := graph.NewBuilder(p.Graph)
	step := gb.Placeholder("global_step", graph.Type{DType: tensor.Int64})
	p.feeds = []graph.Output{step}
	leaves := map[*G.Node]graph.Output{}
	for _, in := range b.Inputs() {
		f := gb.Placeholder(in.Name, graph.Type{DType: in.DType, Shape: graph.ShapeOf(in.Node.Shape()...)})
		leaves[in.Node], p.feeds = f, append(p.feeds, f)
	}
	for _, v := range b.Variables() {
		leaves[v.Node] = gb.Read(gb.Variable(v.Name, graph.TypeOf(v.DType, v.Shape...)), graph.TypeOf(v.DType, v.Shape...))
	}
	values, err := lower.Expressions(gb, lower.Options{Seed: o.Seed, GlobalStep: step}, roots, leaves)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		p.roots = append(p.roots, lower.Densify(gb, "dense/", v))
	}
	if err := gb.Err(); err != nil {
		t.Fatal(err)
	}
	return p, b
}

// Roots returns the lowered roots.
func (p *Program) Roots() []graph.Output { return p.roots }

// Run runs one step on a device, which it closes, and returns the roots' values.
func (p *Program) Run(t testing.TB, dev device.Device, rows int, step int64, feeds ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range p.Variables {
		if err := vars.Create(name, v); err != nil {
			t.Fatal(err)
		}
	}
	prog, err := engine.Compile(p.Graph, engine.Spec{Feeds: p.feeds, Fetches: p.roots}, dev, vars, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if err := prog.Run(context.Background(), rows, append([]*tensor.Tensor{tensor.Scalar(step)}, feeds...)); err != nil {
		t.Fatal(err)
	}
	var out []*tensor.Tensor
	for i := range p.roots {
		out = append(out, prog.Value(i).Clone())
	}
	return out
}

// Host is Run on the host at global step 0.
func (p *Program) Host(t testing.TB, rows int, feeds ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	return p.Run(t, device.NewHost(), rows, 0, feeds...)
}

// Tensor returns a tensor of the type with the given elements.
func Tensor(d tensor.DType, data []float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i, v := range data {
		switch d {
		case tensor.Float64:
			tensor.Values[float64](t)[i] = v
		case tensor.Float32:
			tensor.Values[float32](t)[i] = float32(v)
		case tensor.Int32:
			tensor.Values[int32](t)[i] = int32(v)
		case tensor.Int64:
			tensor.Values[int64](t)[i] = int64(v)
		case tensor.Uint8:
			tensor.Values[uint8](t)[i] = uint8(v)
		case tensor.Bool:
			tensor.Values[bool](t)[i] = v != 0
		}
	}
	return t
}

// Floats returns the elements of a numeric or bool tensor.
func Floats(t *tensor.Tensor) []float64 {
	out := make([]float64, t.Len())
	for i := range out {
		out[i] = t.Float(i)
	}
	return out
}
