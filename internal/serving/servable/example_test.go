package servable_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/serving/servable"
)

// A model that doubles, kept in memory.
func Example() {
	double := &servable.Func{Compute: func(_ context.Context, feeds map[string]*graph.Tensor, _ []string) ([]*graph.Tensor, error) {
		x := feeds["x:0"].Clone()
		for i, v := range graph.Of[float32](x) {
			graph.Of[float32](x)[i] = 2 * v
		}
		return []*graph.Tensor{x}, nil
	}}
	var models servable.Memory
	models.Set(servable.ID{Name: "double", Version: 1}, double)

	h, err := models.Acquire("double", servable.Version{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Release()
	y, err := h.Model().Run(context.Background(), map[string]*graph.Tensor{"x:0": graph.ScalarOf(float32(21))}, []string{"y:0"})
	fmt.Println(h.ID(), graph.Of[float32](y[0]), err)

	_, err = models.Acquire("triple", servable.Version{})
	fmt.Println(err)
	// Output:
	// {name: double version: 1} [42] <nil>
	// rpc error: code = NotFound desc = Servable not found for request: Latest(triple)
}
