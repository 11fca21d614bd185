package graph_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// A model built at two batch sizes becomes one graph for any batch.
func ExampleUnify() {
	build := func(batch int) *graph.Graph {
		b := graph.NewBuilder(graph.New())
		x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(batch, 28, 28)})
		to, _ := tensor.FromSlice([]int32{int32(batch), 784}, 2)
		b.Op("Reshape", "flatten", graph.Type{DType: tensor.Float32, Shape: graph.ShapeOf(batch, 784)}, nil, x, b.Const("flatten/shape", to))
		return b.Graph
	}
	g, err := graph.Unify(build(1009), 1009, build(1013), 1013)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range g.Nodes() {
		fmt.Println(n.Op, n.Outputs[0].Shape)
	}
	to := g.Node("flatten/shape").Attrs["value"].(*tensor.Tensor)
	fmt.Println(tensor.Values[int32](to))
	// Output:
	// Placeholder [B,28,28]
	// Const [2]
	// Reshape [B,784]
	// [-1 784]
}

// A Builder needs one check, at the end.
func ExampleBuilder() {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(4)})
	y := b.Op("AddV2", "y", x.Type(), graph.Attrs{"T": tensor.Float32}, x, b.Scalar("one", tensor.Float32, 1))
	fmt.Println(y, y.DType(), y.Shape(), b.Err())
	// Output: y:0 float32 [B,4] <nil>
}
