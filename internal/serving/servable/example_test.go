package servable_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// A model that doubles, kept in memory.
func Example() {
	double := &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		x := feeds["x:0"].Clone()
		for i, v := range tensor.Values[float32](x) {
			tensor.Values[float32](x)[i] = 2 * v
		}
		return []*tensor.Tensor{x}, nil
	}}
	var models servable.Memory
	models.Set(servable.ID{Name: "double", Version: 1}, double)

	h, err := models.Acquire("double", servable.Version{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Release()
	y, err := h.Model().Run(context.Background(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(float32(21))}, []string{"y:0"})
	fmt.Println(h.ID(), tensor.Values[float32](y[0]), err)

	_, err = models.Acquire("triple", servable.Version{})
	fmt.Println(err)
	// Output:
	// {name: double version: 1} [42] <nil>
	// rpc error: code = NotFound desc = Servable not found for request: Latest(triple)
}
