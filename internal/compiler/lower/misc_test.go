package lower

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"
)

// TestWithoutReference covers ops that the TapeMachine cannot run: x is
// [2,3] = 0..5 in float64, and the wanted values follow from the op's definition.
func TestWithoutReference(t *testing.T) {
	for name, c := range map[string]struct {
		build func(x, ids *G.Node) (*G.Node, error)
		want  []float64
	}{
		"at":       {func(x, _ *G.Node) (*G.Node, error) { return G.At(x, 1, 2) }, []float64{5}},
		"convert":  {func(x, _ *G.Node) (*G.Node, error) { return G.ConvType(x, gtensor.Float64, gtensor.Float32) }, []float64{0, 1, 2, 3, 4, 5}},
		"columns":  {func(x, ids *G.Node) (*G.Node, error) { return G.ByIndices(x, ids, 1) }, []float64{2, 0, 5, 3}},
		"identity": {func(x, _ *G.Node) (*G.Node, error) { return G.ApplyOp(G.Iop{}, x) }, []float64{0, 1, 2, 3, 4, 5}},
		"every other column": {func(x, _ *G.Node) (*G.Node, error) {
			y, err := G.Concat(1, x, x)
			if err != nil {
				return nil, err
			}
			return G.Slice(y, nil, G.S(0, 6, 2))
		}, []float64{0, 2, 1, 3, 5, 4}},
		"repeat each row": {func(x, _ *G.Node) (*G.Node, error) {
			y, err := G.Concat(0, x, x)
			if err != nil {
				return nil, err
			}
			_, r, err := G.Broadcast(x, y, G.NewBroadcastPattern(nil, []byte{0}))
			return r, err
		}, []float64{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
		"comparison": {func(x, _ *G.Node) (*G.Node, error) { return G.Gt(x, G.NewConstant(2.5), false) }, []float64{0, 0, 0, 1, 1, 1}},
		"int":        {func(_, ids *G.Node) (*G.Node, error) { return G.Add(ids, G.NewConstant(3)) }, []float64{5, 3}},
		"vector and column": {func(x, _ *G.Node) (*G.Node, error) {
			v, err := G.Reshape(x, gtensor.Shape{6})
			if err != nil {
				return nil, err
			}
			c, err := G.Reshape(x, gtensor.Shape{6, 1})
			if err != nil {
				return nil, err
			}
			return G.Add(v, c)
		}, []float64{0, 2, 4, 6, 8, 10}},
		"one element": {func(x, _ *G.Node) (*G.Node, error) {
			a, err := G.At(x, 1, 1)
			if err != nil {
				return nil, err
			}
			m, err := G.Reshape(a, gtensor.Shape{1, 1})
			if err != nil {
				return nil, err
			}
			return G.Add(m, a)
		}, []float64{8}},
		"softmax of a column": {func(x, _ *G.Node) (*G.Node, error) {
			y, err := G.Reshape(x, gtensor.Shape{6, 1})
			if err != nil {
				return nil, err
			}
			z, err := G.SoftMax(y)
			if err != nil {
				return nil, err
			}
			return G.Sum(z)
		}, []float64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := G.NewGraph()
			x := param(g, "x", 2, 3)
			ids := G.NewTensor(g, gtensor.Int, 1, G.WithName("ids"), G.WithShape(2))
			root := must(t)(c.build(x, ids))
			b := graph.NewBuilder(graph.New())
			values, err := Expressions(b, Options{}, []*G.Node{root}, leaves(b, x, ids))
			if err != nil {
				t.Fatal(err)
			}
			p := &interp{feeds: map[string]array{"x": {[]int{2, 3}, []float64{0, 1, 2, 3, 4, 5}}, "ids": {[]int{2}, []float64{2, 0}}}, memo: map[graph.Output]array{}}
			got := p.eval(values[0].Output).v
			if name == "softmax of a column" {
				requireNear(t, name, got, c.want, 1e-12)
				return
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestColumnGradient: the gradient of chosen columns is not sparse in dimension 0, hence dense.
func TestColumnGradient(t *testing.T) {
	g := G.NewGraph()
	x := param(g, "x", 2, 3)
	ids := G.NewTensor(g, gtensor.Int, 1, G.WithName("ids"), G.WithShape(2))
	grads, err := G.Grad(must(t)(G.Sum(must(t)(G.Square(must(t)(G.ByIndices(x, ids, 1)))))), x)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(graph.New())
	values, err := Expressions(b, Options{}, grads, leaves(b, x, ids))
	if err != nil {
		t.Fatal(err)
	}
	p := &interp{feeds: map[string]array{"x": {[]int{2, 3}, []float64{0, 1, 2, 3, 4, 5}}, "ids": {[]int{2}, []float64{2, 2}}}, memo: map[graph.Output]array{}}
	if got := p.eval(values[0].Output).v; values[0].Sparse() || !slices.Equal(got, []float64{0, 0, 8, 0, 0, 20}) {
		t.Errorf("got %v", got)
	}
}

func TestConstantsOfEveryType(t *testing.T) {
	for _, v := range []any{float32(1), 1.0, int32(1), int64(1), 1, uint8(1), true,
		[]float32{1}, []float64{1}, []int32{1}, []int64{1}, []int{1}, []uint8{1}, []bool{true}} {
		h, err := elements(v, []int{1})
		if err != nil || h.Len() != 1 || h.Bytes[0] == 0 && h.Bytes[len(h.Bytes)-1] == 0 {
			t.Errorf("%T: %v %v", v, h, err)
		}
	}
	if _, err := elements("text", nil); err == nil {
		t.Error("a string: expected an error")
	}
	// A transposed view is copied in the order of its elements.
	d := gtensor.New(gtensor.WithShape(2, 3), gtensor.WithBacking([]float64{0, 1, 2, 3, 4, 5}))
	if err := d.T(); err != nil {
		t.Fatal(err)
	}
	h, err := hostTensor(d)
	if err != nil || !slices.Equal(tensor.Values[float64](h), []float64{0, 3, 1, 4, 2, 5}) {
		t.Errorf("transposed: %v %v", h, err)
	}
}

func TestWrongSparseValues(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	rows := b.Placeholder("rows", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(2, 3)})
	i32 := b.Placeholder("i32", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(2)})
	i64 := b.Placeholder("i64", graph.Type{DType: tensor.Int64, Shape: graph.ShapeOf(2)})
	x := SparseValue(graph.ShapeOf(5, 3), Slices{Rows: rows, Indices: i32})
	y := SparseValue(graph.ShapeOf(5, 3), Slices{Rows: rows, Indices: i64})
	sum, err := AddSparse(x, y)
	if err != nil {
		t.Fatal(err)
	}
	if s := Join(b, "s/", sum).Slices[0]; s.Indices.DType() != tensor.Int64 || s.Rows.Shape().String() != "[4,3]" {
		t.Errorf("int32 and int64 indices: %v", s)
	}
	y.Dense = graph.ShapeOf(6, 3)
	if _, err := AddSparse(x, y); err == nil {
		t.Error("tables of different sizes: expected an error")
	}
	x.Dense = graph.BatchOf(3)
	if Densify(b, "", x); b.Err() == nil {
		t.Error("a table as large as the batch: expected an error")
	}
}
