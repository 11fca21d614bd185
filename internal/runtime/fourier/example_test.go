package fourier_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/fourier"
)

func Example() {
	line := []complex128{1, 2, 3, 4}
	fourier.NewPlan(len(line)).Worker().Forward(line)
	fmt.Printf("%.0f\n", line)
	// Output: [(10+0i) (-2+2i) (-2+0i) (-2-2i)]
}
