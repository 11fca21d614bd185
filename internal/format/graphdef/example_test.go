package graphdef_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
)

// A graph survives conversion to a GraphDef and back, including its symbolic batch.
func Example() {
	b := graph.NewBuilder(graph.New())
	x := b.Placeholder("x", graph.Type{DType: tensor.Float32, Shape: graph.BatchOf(4)})
	b.Op("Relu", "relu", x.Type(), graph.Attrs{"T": tensor.Float32}, x)

	data, err := graphdef.Marshal(b.Graph)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := graphdef.Unmarshal(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range g.Nodes() {
		fmt.Println(n.Name, n.Op, n.Outputs[0].DType, n.Outputs[0].Shape)
	}
	// Output:
	// x Placeholder float32 [B,4]
	// relu Relu float32 [B,4]
}
