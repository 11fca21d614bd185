package attention_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/attention"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// An attention of two heads becomes products and a softmax.
func Example() {
	b := graph.NewBuilder(graph.New())
	t := graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(5, 2, 4)}
	q, k, v := b.Placeholder("q", t), b.Placeholder("k", t), b.Placeholder("v", t)
	sums := graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(2, 5)}
	n := b.Node("_Attention", "attention", []graph.Type{t, sums}, graph.Attrs{"T": tensor.Float32}, q, k, v)
	y := b.Op("Identity", "y", t, graph.Attrs{"T": tensor.Float32}, n.Out(0))
	fmt.Println(attention.Expand(b))
	for n := y.Node.Inputs[0].Node.Inputs[0].Node; n.Op != "Placeholder"; n = n.Inputs[0].Node {
		fmt.Println(n.Op)
	}
	// Output:
	// <nil>
	// Transpose
	// BatchMatMulV2
	// Softmax
	// Mul
	// BatchMatMulV2
	// Transpose
}
