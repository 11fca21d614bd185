package dylib_test

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/dylib"
)

func ExampleOpen() {
	_, err := dylib.Open("libnosuch.so")
	var missing *dylib.NotFoundError
	fmt.Println(errors.As(err, &missing), missing.Name)
	// Output: true libnosuch.so
}
