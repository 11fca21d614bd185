package emulate_test

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate"
)

func ExampleDeclared() {
	ptx, err := emulate.Declared{reverse}.Compile(context.Background(), reverse.Source(), 90)
	fmt.Printf("%s%v\n", ptx, err)
	// Output:
	// .version 7.0
	// .target sm_90
	// .visible .entry reverse(.param .u64 a,.param .u64 a,.param .u64 a,)
	// <nil>
}
