package opsmatrix_test

import "fmt"

func Example() {
	for _, c := range backends() {
		fmt.Println(c.name, c.has("Relu"), c.has("StringJoin"))
	}
	// Output:
	// GraphDef true true
	// engine true false
	// eager true true
	// shapes true true
	// CUDA true false
	// ONNX true false
}
