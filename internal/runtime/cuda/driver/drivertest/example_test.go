package drivertest_test

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/drivertest"
)

func Example() {
	fmt.Println(strings.Contains(drivertest.PTX, ".entry "+drivertest.Kernel))
	// Output: true
}
