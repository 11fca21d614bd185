package lower_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/cuda/lower"
	"github.com/goestimator/goestimator/internal/runtime/engine"
)

func ExampleSupports() {
	fmt.Println(lower.Supports(&engine.Operation{Node: &graph.Node{Op: "Lstm"}}))
	// Output: op Lstm has no kernel on the GPU
}
