package cuda_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

func ExampleDescribe() {
	fmt.Println(cuda.Describe(driver.Info{Name: "NVIDIA H200", Major: 9, Memory: 140 << 30, Multiprocessors: 132}))
	// Output: NVIDIA H200, sm_90, 140.0 GiB, 132 multiprocessors
}
