package nccl_test

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/internal/runtime/cuda/driver/fake"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nccl"
)

// Contexts without a real GPU are refused before the library is looked for.
func ExampleOpen() {
	c, _ := fake.New(fake.Default).Open(0)
	_, err := nccl.Open([]driver.Context{c})
	fmt.Println(errors.Is(err, nccl.ErrNotNative))
	// Output: true
}
