package engine

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/tensor"
)

// TestNormFollowsVariables sets each input of a normalization after a convolution between runs.
func TestNormFollowsVariables(t *testing.T) {
	vars := ok(NewVariables(device.NewHost()))
	defer vars.Close()
	one := fixedType(tensor.Float32, 1)
	b := graph.NewBuilder(graph.New())
	read := func(name string, typ graph.Type, v float32) graph.Output {
		if err := vars.Create(name, dense([]float32{v}, typ.Shape.At(0)...)); err != nil {
			t.Fatal(err)
		}
		return b.Read(b.Variable(name, typ), typ)
	}
	pixels := batchType(tensor.Float32, 1, 1, 1)
	x := b.Placeholder("x", pixels)
	y := b.Op("Conv2D", "conv", pixels, graph.Attrs{"strides": []int64{1, 1, 1, 1}, "padding": []byte("VALID")}, x, read("w", fixedType(tensor.Float32, 1, 1, 1, 1), 1))
	y = b.Op("BiasAdd", "biased", pixels, nil, y, read("bias", one, 0))
	n := b.Node("FusedBatchNormV3", "y", []graph.Type{pixels, one, one, one, one, fixedType(tensor.Float32)}, graph.Attrs{"epsilon": float32(0), "is_training": false},
		y, read("gamma", one, 1), read("beta", one, 0), read("mean", one, 0), read("variance", one, 1))
	p := ok(Compile(b.Graph, Spec{Feeds: []graph.Output{x}, Fetches: []graph.Output{n.Out(0)}}, vars.dev, vars, Options{}))
	defer p.Close()
	for _, c := range []struct {
		name      string
		set, want float32
	}{{"w", 1, 6}, {"w", 2, 12}, {"bias", 4, 16}, {"gamma", 3, 48}, {"beta", 5, 53}, {"mean", 1, 50}, {"variance", 9, 20}} {
		if err := vars.Set(c.name, dense([]float32{c.set}, ok(vars.Get(c.name)).Shape...)); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(bg, 1, []*tensor.Tensor{dense([]float32{6}, 1, 1, 1, 1)}); err != nil {
			t.Fatal(err)
		}
		if got := tensor.Values[float32](p.Value(0))[0]; got != c.want {
			t.Errorf("%s set to %v: got %v, want %v", c.name, c.set, got, c.want)
		}
	}
}
