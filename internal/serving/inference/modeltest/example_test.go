package modeltest_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
)

func Example() {
	m := modeltest.New()
	y, err := m.Run(context.Background(), map[string]*graph.Tensor{"x:0": graph.ScalarOf[float32](5)}, []string{"half:0"})
	fmt.Println(graph.Of[float32](y[0]), err)
	// Output: [4.5] <nil>
}
