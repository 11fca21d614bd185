package opsmatrix_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/testkit/opsmatrix"
)

func Example() {
	for _, c := range opsmatrix.Backends() {
		fmt.Println(c.Name, c.Has("Relu"), c.Has("StringJoin"))
	}
	// Output:
	// GraphDef true true
	// engine true false
	// eager true true
	// shapes true true
	// CUDA true false
	// ONNX true false
}
