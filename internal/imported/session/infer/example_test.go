package infer_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/imported/session/infer"
	"github.com/goestimator/goestimator/tensor"
)

func Example() {
	n := &graph.Node{Name: "flat", Op: "Reshape", Outputs: []graph.Type{{DType: tensor.Float32}}}
	target, err := tensor.FromSlice([]int32{-1, 49}, 2)
	if err != nil {
		panic(err)
	}
	out, err := infer.Node(n, []infer.Value{infer.Shaped(32, 7, 7), infer.Of(target)})
	fmt.Println(out[0].Shape, err)
	// Output: [32 49] <nil>
}
