package onnxgraph_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/format/onnx"
	"github.com/goestimator/goestimator/internal/imported/onnxgraph"
	"github.com/goestimator/goestimator/tensor"
)

func ExampleTranslate() {
	x := onnx.Value{Name: "x", DType: tensor.Float32, Dims: []onnx.Dim{{Symbol: "batch"}, {Size: 3}}}
	m, err := onnxgraph.Translate(context.Background(), &onnx.Model{Opsets: map[string]int{"": 17}, Graph: onnx.Graph{
		Inputs: []onnx.Value{x}, Outputs: []onnx.Value{{Name: "y", DType: tensor.Float32, Unranked: true}},
		Nodes: []onnx.Node{{Op: "HardSwish", Inputs: []string{"x"}, Outputs: []string{"h"}}, {Op: "ReduceMax", Inputs: []string{"h"}, Outputs: []string{"y"}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range m.Graph.Graph.Nodes() {
		if n.Op != "Const" {
			fmt.Print(n.Op, " ")
		}
	}
	// Output: Placeholder Mul AddV2 Maximum Minimum Mul Max Identity
}
