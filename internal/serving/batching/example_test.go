package batching_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/batching"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
)

// A model that runs with four rows or eight, whatever the size of the requests.
func Example() {
	p, err := batching.Parse([]byte(`max_batch_size { value: 8 } allowed_batch_sizes: 4 allowed_batch_sizes: 8 num_batch_threads { value: 2 }`))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := batching.NewScheduler(batching.Options{Threads: p.NumBatchThreads})
	defer s.Close()
	echo := &servable.Func{Compute: func(_ context.Context, feeds map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		fmt.Println("the model runs with", feeds["x:0"].Shape[0], "rows")
		return []*tensor.Tensor{feeds["x:0"]}, nil
	}}
	m := batching.New(servable.ID{Name: "echo", Version: 1}, echo, p, s)
	x, err := tensor.FromSlice([]float32{1, 2, 3}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x:0": x}, []string{"y:0"})
	fmt.Println(tensor.Values[float32](y[0]), err)

	_, err = m.Run(context.Background(), map[string]*tensor.Tensor{"x:0": tensor.New(tensor.Float32, 9)}, []string{"y:0"})
	fmt.Println(err)
	// Output:
	// the model runs with 4 rows
	// [1 2 3] <nil>
	// rpc error: code = InvalidArgument desc = Task size 9 is larger than maximum batch size 8
}
