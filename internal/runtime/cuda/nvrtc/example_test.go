package nvrtc_test

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
	"github.com/goestimator/goestimator/internal/runtime/cuda/nvrtc"
)

// Without the compiler, the error says what to install.
func ExampleOpen() {
	_, err := nvrtc.Open()
	var missing *dylib.NotFoundError
	fmt.Println(err == nil || errors.As(err, &missing) || errors.Is(err, dylib.ErrNoLoader))
	// Output: true
}
