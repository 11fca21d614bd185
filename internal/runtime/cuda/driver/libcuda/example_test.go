package libcuda_test

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/libcuda"
)

// On a machine without a GPU, the error says why there is none.
func ExampleOpen() {
	_, err := libcuda.Open()
	fmt.Println(err == nil || errors.Is(err, driver.ErrUnavailable))
	// Output: true
}
