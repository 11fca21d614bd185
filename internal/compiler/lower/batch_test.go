package lower

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// rawModel returns the inputs and the loss of a model of Gorgonia's own ops. The
// first input has the batch.
type rawModel func(t *testing.T, g *G.ExprGraph, batch int) (in []*G.Node, loss *G.Node)

func param(g *G.ExprGraph, name string, shape ...int) *G.Node {
	return G.NewTensor(g, gtensor.Float64, len(shape), G.WithName(name), G.WithShape(shape...))
}

func perceptron(t *testing.T, g *G.ExprGraph, batch int) ([]*G.Node, *G.Node) {
	n := must(t)
	x, y := param(g, "x", batch, 4), param(g, "y", batch, 3)
	w1, b1, w2, b2 := param(g, "w1", 4, 5), param(g, "b1", 5), param(g, "w2", 5, 3), param(g, "b2", 1, 3)
	h := n(G.Tanh(n(G.BroadcastAdd(n(G.Mul(x, w1)), b1, nil, []byte{0}))))
	z := n(G.BroadcastAdd(n(G.Mul(h, w2)), b2, nil, []byte{0}))
	xent := n(G.Neg(n(G.Sum(n(G.HadamardProd(y, n(G.LogSoftMax(z, 1)))), 1))))
	decay := n(G.Mul(G.NewConstant(.01), n(G.Sum(n(G.Square(w1))))))
	return []*G.Node{x, y, w1, b1, w2, b2}, n(G.Add(n(G.Mean(xent)), decay))
}

func convolutional(t *testing.T, g *G.ExprGraph, batch int) ([]*G.Node, *G.Node) {
	n := must(t)
	x, f, w := param(g, "x", batch, 2, 6, 6), param(g, "f", 3, 2, 3, 3), param(g, "w", 27, 2)
	c := n(G.Rectify(n(G.Conv2d(x, f, gtensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))))
	p := n(G.MaxPool2D(c, gtensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	z := n(G.Mul(n(G.Reshape(p, gtensor.Shape{batch, 27})), w))
	e := n(G.Sub(n(G.Slice(z, nil, G.S(0))), n(G.Slice(z, nil, G.S(1)))))
	return []*G.Node{x, f, w}, n(G.Mean(n(G.Softplus(e))))
}

// lowerRaw lowers loss and gradients of all inputs but those with the batch.
func lowerRaw(t *testing.T, model rawModel, batch int) (*graph.Graph, []graph.Output) {
	t.Helper()
	g := G.NewGraph()
	in, loss := model(t, g, batch)
	if err := Check(g); err != nil {
		t.Fatal(err)
	}
	grads, err := G.Grad(loss, slices.DeleteFunc(slices.Clone(in), func(n *G.Node) bool { return n.Name() == "x" || n.Name() == "y" })...)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	values, err := Expressions(b, Options{}, append(G.Nodes{loss}, grads...), leaves(b, in...))
	if err != nil {
		t.Fatal(err)
	}
	out := make([]graph.Output, len(values))
	for i, v := range values {
		out[i] = v.Output
	}
	return b.Graph, out
}

// TestAnyBatch lowers raw models at two batch sizes, unifies them, sends them
// through a GraphDef and runs them at other sizes on the engine.
func TestAnyBatch(t *testing.T) {
	for name, model := range map[string]rawModel{"perceptron": perceptron, "convolutional": convolutional} {
		t.Run(name, func(t *testing.T) {
			a, roots := lowerRaw(t, model, 1009)
			b, _ := lowerRaw(t, model, 1013)
			u, err := graph.Unify(a, 1009, b, 1013)
			if err != nil {
				t.Fatal(err)
			}
			data, err := graphdef.Marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			if u, err = graphdef.Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			if err := graph.Validate(u); err != nil {
				t.Fatal(err)
			}
			var fetches []graph.Output
			for _, r := range roots {
				fetches = append(fetches, u.Node(r.Node.Name).Out(r.Index))
			}
			for _, batch := range []int{7, 2, 11} {
				compareAt(t, model, u, fetches, batch)
			}
		})
	}
}

// compareAt runs the unified graph on the engine against the interpreter on a
// graph that was built for this batch.
func compareAt(t *testing.T, model rawModel, u *graph.Graph, fetches []graph.Output, batch int) {
	t.Helper()
	_, roots := lowerRaw(t, model, batch)
	rng := rand.New(rand.NewPCG(3, uint64(batch)))
	p := &interp{feeds: map[string]array{}, memo: map[graph.Output]array{}, batch: batch}
	spec := engine.Spec{Fetches: fetches}
	var feeds []*tensor.Tensor
	for _, n := range u.Nodes() {
		if n.Op != "Placeholder" {
			continue
		}
		x := newArray(n.Outputs[0].Shape.At(batch)...)
		for i := range x.v {
			x.v[i] = rng.Float64()*2 - 1
		}
		ft, err := tensor.FromSlice(x.v, x.shape...)
		if err != nil {
			t.Fatal(err)
		}
		p.feeds[n.Name] = x
		spec.Feeds, feeds = append(spec.Feeds, n.Out(0)), append(feeds, ft)
	}
	dev := device.NewHost()
	defer dev.Close()
	vars, err := engine.NewVariables(dev)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := engine.Compile(u, spec, dev, vars, engine.Options{Capacity: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer prog.Close()
	if err := prog.Run(context.Background(), batch, feeds); err != nil {
		t.Fatal(err)
	}
	for i, r := range roots {
		requireNear(t, r.String(), tensor.Values[float64](prog.Value(i)), p.eval(r).v, 1e-9)
	}
}
