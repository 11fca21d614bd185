package regions_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/regions"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	b := graph.NewBuilder(graph.New())
	typ := graph.TypeOf(tensor.Float32, 2, 2)
	x := b.Node("_Recv", "x", []graph.Type{typ}, graph.Attrs{"tensor_type": tensor.Float32}).Out(0)
	for range 3 {
		x = b.Op("Relu", "relu", typ, nil, b.Op("MatMul", "product", typ, nil, x, x))
	}
	b.Node("_Send", "y", nil, nil, x)
	g, set, err := regions.Fuse(b.Graph, dataflow.Waits)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range g.Nodes() {
		fmt.Println(n.Name, n.Op)
	}
	fmt.Println(set.Len(), set.Close())
	// Output:
	// region_0 _Region
	// x _Recv
	// y _Send
	// 1 <nil>
}
