package driver_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

func ExampleLaunch_Check() {
	fmt.Println(driver.Launch{Block: driver.Dim{X: 2048}}.Check())
	// Output: launch of block {2048 0 0}: expected at most 1024 threads
}
