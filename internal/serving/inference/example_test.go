package inference_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/inference/modeltest"
	"github.com/goestimator/goestimator/tensor"
)

// counter is an observer.
type counter struct{}

// Done implements inference.Observer.
func (counter) Done(c inference.Call) { fmt.Println(c.API, c.ID, c.Err) }

func Example() {
	s := &inference.Service{Models: modeltest.Source(), Observers: []inference.Observer{counter{}}}
	x, _ := tensor.FromSlice([]float32{1, 2, 5}, 3)
	p, err := s.PredictTensors(context.Background(), inference.Spec{Name: "m"}, map[string]*tensor.Tensor{"x": x}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Names, tensor.Values[float32](p.Tensors[0]))
	_, err = s.PredictTensors(context.Background(), inference.Spec{Name: "m"}, nil, nil)
	fmt.Println(err)
	// Output:
	// Predict {name: m version: 2} <nil>
	// [y] [2.5 3 4.5]
	// Predict {name: m version: 2} rpc error: code = InvalidArgument desc = input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}.
	// rpc error: code = InvalidArgument desc = input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}.
}
