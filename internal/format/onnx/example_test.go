package onnx_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/tensor"
)

// A model that doubles.
func Example() {
	two := tensor.Scalar(float32(2))
	m := onnx.Model{Producer: "example", Graph: onnx.Graph{
		Name:         "double",
		Inputs:       []onnx.Value{{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "batch"}}}},
		Outputs:      []onnx.Value{{Name: "y", DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "batch"}}}},
		Initializers: []onnx.Initializer{{Name: "two", Tensor: two}},
		Nodes:        []onnx.Node{{Op: "Mul", Name: "double", Inputs: []string{"x", "two"}, Outputs: []string{"y"}}},
	}}
	data, err := m.Marshal()
	fmt.Println(len(data), err)
	// Output: 112 <nil>
}
