package lower_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/device/cuda/lower"
	"github.com/goestimator/goestimator/internal/engine"
	"github.com/goestimator/goestimator/internal/graph"
)

func ExampleSupports() {
	fmt.Println(lower.Supports(&engine.Operation{Node: &graph.Node{Op: "Lstm"}}))
	// Output: op Lstm has no kernel on the GPU
}
