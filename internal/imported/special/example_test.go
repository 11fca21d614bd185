package special_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/special"
)

// What a single-precision model says is not the rounded result of double precision.
func Example() {
	fmt.Printf("%.4f %.4f\n", special.Digamma(2.0), special.LowerGamma(3.0, 2.0))
	fmt.Printf("%.4f\n", special.NormalQuantile[float32](0.975))
	// Output:
	// 0.4228 0.3233
	// 1.9600
}
