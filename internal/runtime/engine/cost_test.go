package engine

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

func TestCost(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	f32 := func(s graph.Shape) graph.Type { return graph.Type{DType: tensor.Float32, Shape: s} }
	fixed := func(dims ...int) graph.Type { return f32(graph.ShapeOf(dims...)) }
	in := func(name string, t graph.Type) graph.Output { return b.Placeholder(name, t) }
	x, w, bias := in("x", f32(graph.BatchOf(20))), in("w", fixed(20, 30)), in("bias", fixed(30))
	y := f32(graph.BatchOf(30))
	dy := in("dy", y)
	images, filter, out := in("images", f32(graph.BatchOf(8, 8, 3))), in("filter", fixed(3, 3, 3, 5)), f32(graph.BatchOf(8, 8, 5))
	dout := in("dout", out)
	deep, ddeep := in("deep", fixed(3, 3, 3, 2)), in("ddeep", f32(graph.BatchOf(8, 8, 6)))
	sizes := in("sizes", graph.Type{DType: tensor.Int32, Shape: graph.ShapeOf(4)})
	table, ids := in("table", fixed(1000, 4)), in("ids", graph.Type{DType: tensor.Int32, Shape: graph.BatchOf()})
	rows := in("rows", f32(graph.BatchOf(4)))
	v := b.Variable("v", fixed(20, 30))
	big := b.Variable("big", fixed(1000, 4))
	rate := in("rate", fixed())
	unknown := in("unknown", f32(graph.Shape{UnknownRank: true}))
	transposed := graph.Attrs{"transpose_a": true}
	const imageBytes, outBytes = 4 * 7 * 8 * 8 * 3, 4 * 7 * 8 * 8 * 5
	cases := []struct {
		op           string
		attrs        graph.Attrs
		out          []graph.Type
		in           []graph.Output
		flops, bytes int64
	}{
		{"MatMul", nil, []graph.Type{y}, []graph.Output{x, w}, 2 * 7 * 20 * 30, 4 * (7*20 + 20*30 + 7*30)},
		{"MatMul", transposed, []graph.Type{fixed(20, 30)}, []graph.Output{x, dy}, 2 * 7 * 20 * 30, 4 * (7*20 + 20*30 + 7*30)},
		{"_FusedMatMul", nil, []graph.Type{y}, []graph.Output{x, w, bias}, 2 * 7 * 20 * 30, 4 * (7*20 + 20*30 + 30 + 7*30)},
		{"Conv2D", nil, []graph.Type{out}, []graph.Output{images, filter}, 2 * 7 * 64 * 5 * 27, imageBytes + 4*135 + outBytes},
		{"Conv2DBackpropInput", nil, []graph.Type{images.Type()}, []graph.Output{sizes, filter, dout}, 2 * 7 * 64 * 5 * 27, imageBytes + 4*135 + outBytes},
		{"Conv2DBackpropFilter", nil, []graph.Type{filter.Type()}, []graph.Output{images, sizes, dout}, 2 * 7 * 64 * 5 * 27, imageBytes + 4*135 + outBytes},
		{"DepthwiseConv2dNative", nil, []graph.Type{ddeep.Type()}, []graph.Output{images, deep}, 2 * 7 * 64 * 6 * 9, imageBytes + 4*54 + 2*imageBytes},
		{"DepthwiseConv2dNativeBackpropFilter", nil, []graph.Type{deep.Type()}, []graph.Output{images, sizes, ddeep}, 2 * 7 * 64 * 6 * 9, imageBytes + 4*54 + 2*imageBytes},
		{"Relu", nil, []graph.Type{y}, []graph.Output{dy}, 0, 2 * 4 * 7 * 30},
		{"ZerosLike", nil, []graph.Type{y}, []graph.Output{dy}, 0, 4 * 7 * 30},
		{"GatherV2", nil, []graph.Type{f32(graph.BatchOf(4))}, []graph.Output{table, ids, rate}, 0, 4 * (2*7*4 + 7 + 1)},
		{"_RaggedCombine", graph.Attrs{"gather": true}, []graph.Type{f32(graph.BatchOf(4))}, []graph.Output{table, ids, rate}, 0, 4 * (2*7*4 + 7 + 1)},
		{"_RaggedCombine", nil, []graph.Type{f32(graph.BatchOf(4))}, []graph.Output{rows, ids, rate}, 0, 4 * (2*7*4 + 7 + 1)},
		{"ResourceApplyGradientDescent", nil, nil, []graph.Output{v, rate, w}, 0, 4 * (2*600 + 1 + 600)},
		{"AssignVariableOp", nil, nil, []graph.Output{v, w}, 0, 4 * (600 + 600)},
		{"ReadVariableOp", nil, []graph.Type{w.Type()}, []graph.Output{v}, 0, 4 * (600 + 600)},
		{"ResourceSparseApplyAdagrad", nil, nil, []graph.Output{big, big, rate, rows, ids}, 0, 4 * (2*2*28 + 1 + 28 + 7)},
		{"MatMul", nil, []graph.Type{y}, []graph.Output{unknown}, 0, 4 * 7 * 30},
		{"Conv2D", nil, nil, nil, 0, 0},
	}
	if err := b.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		n := &graph.Node{Name: "n", Op: c.op, Attrs: c.attrs, Inputs: c.in, Outputs: c.out}
		if flops, bytes := Cost(n, 7); flops != c.flops || bytes != c.bytes {
			t.Errorf("%s: got %d operations and %d bytes, expected %d and %d", c.op, flops, bytes, c.flops, c.bytes)
		}
	}
}

// A profile sums the work of batches of different sizes, and counts the work of fused ops.
func TestProfileCounts(t *testing.T) {
	g := graph.New()
	b := graph.NewBuilder(g)
	x, w, bias := b.Placeholder("x", batchType(tensor.Float32, 3)), b.Placeholder("w", fixedType(tensor.Float32, 3, 2)), b.Placeholder("b", fixedType(tensor.Float32, 2))
	m := b.Op("MatMul", "m", batchType(tensor.Float32, 2), nil, x, w)
	y := b.Op("BiasAdd", "y", batchType(tensor.Float32, 2), nil, m, bias)
	p := ok(Compile(g, Spec{Feeds: []graph.Output{x, w, bias}, Fetches: []graph.Output{y}}, device.NewHost(), ok(NewVariables(device.NewHost())), Options{Profile: true}))
	for _, batch := range []int{4, 1} {
		feeds := []*tensor.Tensor{tensor.New(tensor.Float32, batch, 3), tensor.New(tensor.Float32, 3, 2), tensor.New(tensor.Float32, 2)}
		if err := p.Run(bg, batch, feeds); err != nil {
			t.Fatal(err)
		}
	}
	got := p.Profile()
	if len(got) != 1 || got[0].Op != "MatMul+BiasAdd" || got[0].Count != 2 || got[0].Flops != 2*5*3*2 || got[0].Bytes != 4*(5*3+5*2+2*(6+2)) {
		t.Errorf("got %+v", got)
	}
}
