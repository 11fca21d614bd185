package stablehlo_test

import (
	"fmt"
	"os"

	"github.com/goestimator/goestimator/internal/format/stablehlo"
)

// The functions of a program, and their arguments.
func Example() {
	data, err := os.ReadFile("testdata/loop_0.4.23.mlirbc")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := stablehlo.Read(data)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range m.Functions[:1] {
		for _, a := range f.Body.Args {
			fmt.Println(f.Name, a.Type.DType, a.Type.Dims)
		}
	}
	// Output: main float32 [3]
}
