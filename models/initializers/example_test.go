package initializers_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models/initializers"
	"github.com/goestimator/goestimator/tensor"
)

func ExampleNew() {
	i, err := initializers.New("variance_scaling", map[string]any{"scale": 2, "mode": "fan_in", "distribution": "uniform"})
	fmt.Println(i, err)
	_, err = initializers.New("constant", map[string]any{"values": 3})
	fmt.Println(err)
	kernel := tensor.Tensor{DType: tensor.Float32, Shape: []int{2}, Bytes: make([]byte, 8)}
	fmt.Println(initializers.Ones().Init(&kernel, 0), tensor.Values[float32](&kernel))
	// Output:
	// {2 fan_in uniform} <nil>
	// initializer constant: unknown parameter values: known are value; did you mean value?
	// <nil> [1 1]
}
