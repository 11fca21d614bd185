package lower

import (
	"errors"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestRefused: every op that is wrong in Gorgonia is refused by name, with what to use instead.
func TestRefused(t *testing.T) {
	image := func(g *G.ExprGraph) *G.Node { return input(g, "x", 2, 3, 4, 4) }
	differentiate := func(f func(*G.Node) (*G.Node, error)) func(g *G.ExprGraph) (*G.Node, error) {
		return func(g *G.ExprGraph) (*G.Node, error) {
			x := input(g, "x", 3)
			y, err := f(x)
			if err != nil {
				return nil, err
			}
			loss, err := G.Sum(y)
			if err != nil {
				return nil, err
			}
			grads, err := G.Grad(loss, x)
			if err != nil {
				return nil, err
			}
			return grads[0], nil
		}
	}
	for op, build := range map[string]func(g *G.ExprGraph) (*G.Node, error){
		"Dropout": func(g *G.ExprGraph) (*G.Node, error) { return G.Dropout(image(g), .5) },
		"AveragePool2D": func(g *G.ExprGraph) (*G.Node, error) {
			return G.AveragePool2D(image(g), tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2})
		},
		"GlobalAveragePool2D": func(g *G.ExprGraph) (*G.Node, error) { return G.GlobalAveragePool2D(image(g)) },
		"MaxPool2D": func(g *G.ExprGraph) (*G.Node, error) {
			return G.MaxPool2D(image(g), tensor.Shape{2, 2}, []int{1, 0, 0, 0}, []int{2, 2})
		},
		"BatchNorm": func(g *G.ExprGraph) (*G.Node, error) {
			x := image(g)
			s, b := input(g, "s", 1, 3, 1, 1), input(g, "b", 1, 3, 1, 1)
			y, _, _, _, err := G.BatchNorm(x, s, b, .9, 1e-5)
			return y, err
		},
		"UniformRandomNode": func(g *G.ExprGraph) (*G.Node, error) {
			return G.Neg(G.UniformRandomNode(g, tensor.Float32, 0, 1, 3))
		},
		"OuterProd": differentiate(func(x *G.Node) (*G.Node, error) {
			y, err := G.Tanh(x)
			if err != nil {
				return nil, err
			}
			return G.OuterProd(x, y)
		}),
		"Log2":        differentiate(G.Log2),
		"InverseSqrt": differentiate(G.InverseSqrt),
		"NewConstant": func(g *G.ExprGraph) (*G.Node, error) {
			x := input(g, "x", 3)
			y, err := G.Add(x, G.NewConstant(float32(1)))
			if err != nil {
				return nil, err
			}
			z := G.NewTensor(g, tensor.Float64, 1, G.WithName("z"), G.WithShape(3))
			if _, err := G.Add(z, G.NewConstant(float64(1))); err != nil {
				return nil, err
			}
			_ = y
			return G.Add(z, G.NewConstant(float64(1)))
		},
	} {
		t.Run(op, func(t *testing.T) {
			g := G.NewGraph()
			root, err := build(g)
			if err != nil {
				t.Fatal(err)
			}
			b := graph.NewBuilder(graph.New())
			var inputs []*G.Node
			for _, n := range g.AllNodes() {
				if n.Op() == nil {
					inputs = append(inputs, n)
				}
			}
			_, err = Expressions(b, Options{}, []*G.Node{root}, leaves(b, inputs...))
			var re *RefusedError
			if !errors.As(err, &re) || !strings.HasPrefix(re.Op, op) || re.Node == "" || re.Instead == "" {
				t.Fatalf("got %v, want a RefusedError about %s", err, op)
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	g := G.NewGraph()
	x := input(g, "x", 2, 3, 4, 4)
	cols := must(t)(G.Im2Col(x, tensor.Shape{2, 2}, tensor.Shape{0, 0}, tensor.Shape{1, 1}, tensor.Shape{1, 1}))
	for want, root := range map[string]*G.Node{
		"upsampleOp":     must(t)(G.Upsample2D(x, 2)),
		"inside a conv":  cols,
		"outside of the": must(t)(G.Neg(cols)),
	} {
		b := graph.NewBuilder(graph.New())
		var ue *UnsupportedError
		if _, err := Expressions(b, Options{}, []*G.Node{root}, leaves(b, x)); !errors.As(err, &ue) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an UnsupportedError with %q", err, want)
		}
	}
}

// TestCheck: merged nodes are found before Grad hides the traces.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *G.ExprGraph) error
		want  string
	}{
		"clean": {func(g *G.ExprGraph) error {
			x := input(g, "x", 3, 4)
			y := must(t)(G.SoftMax(x))
			z := must(t)(G.LogSoftMax(must(t)(G.HadamardProd(y, y))))
			must(t)(G.Slice(z, G.S(0, 2)))
			must(t)(G.Slice(z, G.S(1, 3)))
			return nil
		}, ""},
		"softmax and log softmax": {func(g *G.ExprGraph) error {
			x := input(g, "x", 3, 4)
			must(t)(G.SoftMax(x))
			must(t)(G.LogSoftMax(x))
			return nil
		}, "softmaxOp"},
		"inputs of one name": {func(g *G.ExprGraph) error { input(g, "x", 3); input(g, "x", 3); return nil }, `two inputs named "x"`},
		"far slices": {func(g *G.ExprGraph) error {
			x := input(g, "x", 300)
			must(t)(G.Slice(x, G.S(1, 10)))
			must(t)(G.Slice(x, G.S(257, 266)))
			return nil
		}, "sliceOp"},
	} {
		g := G.NewGraph()
		if err := c.build(g); err != nil {
			t.Fatal(err)
		}
		err := Check(g)
		var re *RefusedError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &re) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestConstants(t *testing.T) {
	whole := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, -2.5, 3, 0, 1e-3, 6}))
	long := tensor.New(tensor.WithShape(100), tensor.WithBacking(make([]float32, 100)))
	fine := tensor.New(tensor.WithShape(2), tensor.WithBacking([]float32{1.0000001, 1e-30}))
	for name, c := range map[string]struct {
		v       *tensor.Dense
		refused bool
	}{"exact": {whole, false}, "elided": {long, true}, "fine": {fine, false}} {
		g := G.NewGraph()
		x := input(g, "x", c.v.Shape()...)
		root := must(t)(G.Add(x, G.NewConstant(c.v)))
		b := graph.NewBuilder(graph.New())
		values, err := Expressions(b, Options{}, []*G.Node{root}, leaves(b, x))
		var re *RefusedError
		if c.refused != errors.As(err, &re) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			p := &interp{feeds: map[string]array{"x": newArray(c.v.Shape()...)}, memo: map[graph.Output]array{}}
			h, _ := hostTensor(c.v)
			requireNear(t, name, p.eval(values[0].Output).v, fromTensor(h).v, 0)
		}
	}
}
