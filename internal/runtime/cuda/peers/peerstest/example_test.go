package peerstest_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/peers/peerstest"
)

func Example() {
	fmt.Println(peerstest.GPUs)
	// Output: [1 2 3 4 8]
}
