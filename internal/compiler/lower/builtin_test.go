package lower

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// opCase is one op in a small graph.
type opCase struct {
	name   string
	shapes [][]int // of the inputs, all differentiated
	build  func(in []*G.Node) (*G.Node, error)
	low    float64 // inputs are uniform in [low, low+2)
	noGrad bool
	dtype  tensor.Dtype // of the inputs; default float64
}

func one(f func(x *G.Node) (*G.Node, error)) func([]*G.Node) (*G.Node, error) {
	return func(in []*G.Node) (*G.Node, error) { return f(in[0]) }
}

func two(f func(x, y *G.Node) (*G.Node, error)) func([]*G.Node) (*G.Node, error) {
	return func(in []*G.Node) (*G.Node, error) { return f(in[0], in[1]) }
}

var opCases = append(append(elementwiseCases(), shapeCases()...), neuralCases()...)

func elementwiseCases() []opCase {
	m, v, sc := [][]int{{3, 4}, {3, 4}}, [][]int{{5}, {5}}, [][]int{{}, {3, 4}}
	cs := []opCase{
		{name: "add", shapes: m, build: two(G.Add)}, {name: "sub", shapes: v, build: two(G.Sub)},
		{name: "mul", shapes: m, build: two(G.HadamardProd)}, {name: "div", shapes: m, build: two(G.HadamardDiv), low: .5},
		{name: "pow", shapes: m, build: two(G.Pow), low: .5}, {name: "scalar left", shapes: sc, build: two(G.HadamardProd)},
		{name: "scalar sub", shapes: sc, build: two(G.Sub)}, {name: "scalars", shapes: [][]int{{}, {}}, build: two(G.HadamardDiv), low: .5},
		{name: "same operand", shapes: [][]int{{4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.HadamardProd(x, x) })},
		{name: "max between", shapes: m, build: two(G.MaxBetween)}, {name: "min between", shapes: m, build: two(G.MinBetween)},
		{name: "broadcast add", shapes: [][]int{{3, 4}, {1, 4}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.BroadcastAdd(x, y, nil, []byte{0}) })},
		{name: "broadcast vector", shapes: [][]int{{3, 4}, {4}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.BroadcastHadamardProd(x, y, nil, []byte{0}) })},
		{name: "broadcast column", shapes: [][]int{{3, 4}, {3, 1}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.BroadcastHadamardDiv(x, y, nil, []byte{1}) }), low: .5},
		{name: "leaky relu", shapes: [][]int{{3, 4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.LeakyRelu(x, .1) })},
		{name: "rectify", shapes: [][]int{{3, 4}}, build: one(G.Rectify)},
		{name: "binary xent", shapes: [][]int{{4}, {4}}, low: .01, build: two(func(x, y *G.Node) (*G.Node, error) {
			p, err := G.Sigmoid(x)
			if err != nil {
				return nil, err
			}
			return G.BinaryXent(p, y)
		})},
	}
	for name, f := range map[string]func(a, b *G.Node, same bool) (*G.Node, error){"lt": G.Lt, "gt": G.Gt, "lte": G.Lte, "gte": G.Gte, "eq": G.Eq, "ne": G.Ne} {
		cs = append(cs, opCase{name: name, shapes: m, noGrad: true, build: two(func(x, y *G.Node) (*G.Node, error) { return f(x, y, true) })})
	}
	for name, f := range map[string]func(*G.Node) (*G.Node, error){"abs": G.Abs, "sin": G.Sin, "cos": G.Cos, "exp": G.Exp, "neg": G.Neg,
		"square": G.Square, "cube": G.Cube, "tanh": G.Tanh, "sigmoid": G.Sigmoid, "expm1": G.Expm1, "softplus": G.Softplus} {
		cs = append(cs, opCase{name: name, shapes: [][]int{{3, 4}}, build: one(f)})
	}
	for name, f := range map[string]func(*G.Node) (*G.Node, error){"log": G.Log, "sqrt": G.Sqrt, "inverse": G.Inverse, "log1p": G.Log1p} {
		cs = append(cs, opCase{name: name, shapes: [][]int{{3, 4}}, build: one(f), low: .5})
	}
	for name, f := range map[string]func(*G.Node) (*G.Node, error){"log2": G.Log2, "inverse sqrt": G.InverseSqrt} {
		cs = append(cs, opCase{name: name, shapes: [][]int{{3, 4}}, build: one(f), low: .5, noGrad: true})
	}
	for name, f := range map[string]func(*G.Node) (*G.Node, error){"sign": G.Sign, "ceil": G.Ceil, "floor": G.Floor} {
		cs = append(cs, opCase{name: name, shapes: [][]int{{3, 4}}, build: one(f), noGrad: true})
	}
	slices.SortFunc(cs, func(a, b opCase) int { return compare(a.name, b.name) })
	return cs
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func shapeCases() []opCase {
	cube := [][]int{{2, 3, 4}}
	cs := []opCase{
		{name: "matmul", shapes: [][]int{{3, 4}, {4, 2}}, build: two(G.Mul)},
		{name: "matvec", shapes: [][]int{{3, 4}, {4}}, build: two(G.Mul)},
		{name: "vecmat", shapes: [][]int{{3}, {3, 4}}, build: two(G.Mul)},
		{name: "vecdot", shapes: [][]int{{4}, {4}}, build: two(G.Mul)},
		{name: "outer", shapes: [][]int{{3}, {4}}, build: two(G.OuterProd), noGrad: true},
		{name: "batched", shapes: [][]int{{2, 3, 4}, {2, 4, 5}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.BatchedMatMul(x, y) })},
		{name: "batched transposed", shapes: [][]int{{2, 3, 4}, {2, 5, 4}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.BatchedMatMul(x, y, false, true) })},
		{name: "tensordot", shapes: [][]int{{2, 3, 4}, {4, 3, 5}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.Tensordot([]int{1, 2}, []int{1, 0}, x, y) })},
		{name: "reshape", shapes: [][]int{{3, 4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.Reshape(x, tensor.Shape{2, 6}) })},
		{name: "transpose", shapes: cube, build: one(func(x *G.Node) (*G.Node, error) { return G.Transpose(x, 2, 0, 1) })},
		{name: "concat", shapes: [][]int{{2, 3}, {2, 4}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.Concat(1, x, y) })},
		{name: "concat unit", shapes: [][]int{{1, 3}, {2, 3}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.Concat(0, x, y) })},
		{name: "concat vectors", shapes: [][]int{{3}, {4}}, build: two(func(x, y *G.Node) (*G.Node, error) { return G.Concat(0, x, y) })},
		{name: "slice row", shapes: [][]int{{3, 4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.Slice(x, G.S(1)) })},
		{name: "slice columns", shapes: [][]int{{3, 4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.Slice(x, nil, G.S(1, 3)) })},
		{name: "slice both", shapes: [][]int{{3, 4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.Slice(x, G.S(0, 2), G.S(1, 3)) })},
		{name: "slice vector", shapes: [][]int{{6}}, build: one(func(x *G.Node) (*G.Node, error) { return G.Slice(x, G.S(2, 5)) })},
		{name: "norm", shapes: [][]int{{3, 4}}, build: one(func(x *G.Node) (*G.Node, error) { return G.Norm(x, 1, 2) })},
	}
	for _, axes := range [][]int{nil, {0}, {1}, {0, 1}, {0, 2}} {
		for name, f := range map[string]func(*G.Node, ...int) (*G.Node, error){"sum": G.Sum, "mean": G.Mean, "max": G.Max} {
			shapes, label := cube, name
			for _, a := range axes {
				label += strconv.Itoa(a)
			}
			if name == "max" && len(axes) > 1 {
				continue // Gorgonia's own Max over several axes is not a reference
			}
			cs = append(cs, opCase{name: label, shapes: shapes, build: one(func(x *G.Node) (*G.Node, error) { return f(x, axes...) })})
		}
	}
	slices.SortFunc(cs, func(a, b opCase) int { return compare(a.name, b.name) })
	return cs
}

func neuralCases() []opCase {
	img := [][]int{{2, 3, 6, 5}}
	conv := func(pad, stride []int) func([]*G.Node) (*G.Node, error) {
		return two(func(x, w *G.Node) (*G.Node, error) {
			return G.Conv2d(x, w, tensor.Shape{3, 2}, pad, stride, []int{1, 1})
		})
	}
	pool := func(pad, stride []int) func([]*G.Node) (*G.Node, error) {
		return one(func(x *G.Node) (*G.Node, error) { return G.MaxPool2D(x, tensor.Shape{2, 2}, pad, stride) })
	}
	softmax := func(f func(*G.Node, ...int) (*G.Node, error), axes ...int) func([]*G.Node) (*G.Node, error) {
		return one(func(x *G.Node) (*G.Node, error) { return f(x, axes...) })
	}
	return []opCase{
		{name: "conv", shapes: [][]int{img[0], {4, 3, 3, 2}}, build: conv([]int{0, 0}, []int{1, 1})},
		{name: "conv padded", shapes: [][]int{img[0], {4, 3, 3, 2}}, build: conv([]int{1, 1}, []int{2, 1})},
		{name: "conv of conv", shapes: [][]int{img[0], {4, 3, 3, 2}, {2, 4, 3, 2}}, build: func(in []*G.Node) (*G.Node, error) {
			y, err := conv([]int{1, 1}, []int{1, 1})(in[:2])
			if err != nil {
				return nil, err
			}
			return conv([]int{0, 0}, []int{1, 1})([]*G.Node{y, in[2]})
		}},
		{name: "pool", shapes: img, build: pool([]int{0, 0}, []int{2, 2})},
		{name: "pool padded", shapes: img, build: pool([]int{1, 1}, []int{2, 1})},
		{name: "softmax", shapes: [][]int{{3, 4}}, build: softmax(G.SoftMax)},
		{name: "softmax axis 0", shapes: [][]int{{3, 4}}, build: softmax(G.SoftMax, 0)},
		{name: "softmax vector", shapes: [][]int{{4}}, build: softmax(G.SoftMax)},
		{name: "log softmax", shapes: [][]int{{3, 4}}, build: softmax(G.LogSoftMax)},
		{name: "log softmax cube", shapes: [][]int{{2, 3, 4}}, build: softmax(G.LogSoftMax, 1)},
	}
}

// fixture is a case built in Gorgonia: loss = Σ out·w.
type fixture struct {
	g         *G.ExprGraph
	in        []*G.Node // the case's inputs, then w
	out, loss *G.Node
	grads     G.Nodes
	feeds     []array
	names     []string
	graph     *graph.Graph // lowered
}

func (c opCase) fixture(t *testing.T, rng *rand.Rand) *fixture {
	t.Helper()
	f := &fixture{g: G.NewGraph()}
	for i, s := range c.shapes {
		f.input(c, rng, "x"+strconv.Itoa(i), s)
	}
	var err error
	if f.out, err = c.build(f.in); err != nil {
		t.Fatalf("build: %v", err)
	}
	f.input(c, rng, "w", f.out.Shape())
	p, err := G.HadamardProd(f.out, f.in[len(f.in)-1])
	if err != nil {
		t.Fatalf("product: %v", err)
	}
	if f.loss, err = G.Sum(p); err != nil {
		t.Fatalf("sum: %v", err)
	}
	if !c.noGrad {
		if f.grads, err = G.Grad(f.loss, f.in[:len(c.shapes)]...); err != nil {
			t.Fatalf("grad: %v", err)
		}
	}
	return f
}

func (f *fixture) input(c opCase, rng *rand.Rand, name string, shape []int) {
	a := newArray(shape...)
	for i := range a.v {
		low := c.low
		if low == 0 {
			low = -1
		}
		a.v[i] = low + 2*rng.Float64()
	}
	var n *G.Node
	dt := tensor.Float64
	if c.dtype.Type != nil {
		dt = c.dtype
	}
	switch {
	case len(shape) == 0:
		n = G.NewScalar(f.g, dt, G.WithName(name))
		if dt == tensor.Float64 {
			_ = G.Let(n, a.v[0])
		}
	default:
		n = G.NewTensor(f.g, dt, len(shape), G.WithName(name), G.WithShape(shape...))
		if dt == tensor.Float64 {
			_ = G.Let(n, tensor.New(tensor.WithShape(shape...), tensor.WithBacking(slices.Clone(a.v))))
		}
	}
	f.in, f.feeds, f.names = append(f.in, n), append(f.feeds, a), append(f.names, name)
}

// lowered returns the graph and its roots: out, loss, gradients.
func (f *fixture) lowered(t *testing.T) []Value {
	t.Helper()
	b := graph.NewBuilder(graph.New())
	f.graph = b.Graph
	leaves := map[*G.Node]graph.Output{}
	for i, n := range f.in {
		ty, err := typeOf(n)
		if err != nil {
			t.Fatal(err)
		}
		leaves[n] = b.Placeholder(f.names[i], ty)
	}
	values, err := Expressions(b, Options{}, append(G.Nodes{f.out, f.loss}, f.grads...), leaves)
	if err != nil {
		t.Fatalf("lower: %v", err)
	}
	if err := graph.Validate(b.Graph); err != nil {
		t.Fatal(err)
	}
	return values
}

func (f *fixture) eval(o graph.Output) array {
	p := &interp{feeds: map[string]array{}, memo: map[graph.Output]array{}}
	for i, n := range f.names {
		p.feeds[n] = f.feeds[i]
	}
	return p.eval(o)
}

// reference runs Gorgonia's TapeMachine and returns out, loss, gradients.
func (f *fixture) reference(t *testing.T) []array {
	t.Helper()
	nodes := append(G.Nodes{f.out, f.loss}, f.grads...)
	got := make([]G.Value, len(nodes))
	for i, n := range nodes {
		G.Read(n, &got[i])
	}
	vm := G.NewTapeMachine(f.g)
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatalf("tape machine: %v", err)
	}
	out := make([]array, len(got))
	for i, v := range got {
		h, err := hostTensor(v)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = fromTensor(h)
	}
	return out
}

func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*(1+math.Abs(a)+math.Abs(b)) }

func requireNear(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !near(got[i], want[i], tol) {
			t.Fatalf("%s: element %d is %v, want %v\ngot  %v\nwant %v", what, i, got[i], want[i], got, want)
		}
	}
}

// TestBuiltins compares each op's lowering with the TapeMachine and, for
// gradients, with finite differences of the lowered loss.
func TestBuiltins(t *testing.T) {
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			f := c.fixture(t, rand.New(rand.NewPCG(1, 2)))
			values := f.lowered(t)
			want := f.reference(t)
			for i, v := range values[:2] {
				requireNear(t, []string{"value", "loss"}[i], f.eval(v.Output).v, want[i].v, 1e-9)
			}
			f.engine(t, values, 1e-9)
			for i, v := range values[2:] {
				got := f.eval(v.Output).v
				requireNear(t, "finite differences of x"+strconv.Itoa(i), got, f.differences(values[1].Output, i), 1e-5)
				requireNear(t, "gradient of x"+strconv.Itoa(i), got, want[2+i].v, 1e-9)
			}
		})
	}
}

func (f *fixture) differences(loss graph.Output, input int) []float64 {
	const h = 1e-5
	x := f.feeds[input].v
	out := make([]float64, len(x))
	for i := range x {
		old := x[i]
		x[i] = old + h
		up := f.eval(loss).v[0]
		x[i] = old - h
		out[i] = (up - f.eval(loss).v[0]) / (2 * h)
		x[i] = old
	}
	return out
}
