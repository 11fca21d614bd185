package emulatetest_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/emulate/emulatetest"
)

// A package whose tests run kernels has a test like this one.
func ExampleAgain() {
	_ = func(t *testing.T) { emulatetest.Again(t, "Compile") }
	// Output:
}
