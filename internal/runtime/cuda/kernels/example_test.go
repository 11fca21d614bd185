package kernels_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
)

// A call says which kernel runs over how many blocks; Library.Launch issues it.
func ExampleUpdate() {
	c := kernels.Update{Rule: kernels.SGD, Var: 0x7f0000000000, Scalars: [6]driver.Ptr{0x7f0000002000}}.Dense(0x7f0000001000, 1000)
	fmt.Println(c.Kernel, c.Grid.X, c.Block.X, len(c.Args))
	// Output: update_sgd 4 256 14
}
