package special_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/special"
)

// A float32 result is not the rounded float64 result: for large x, the phase of the wave is rounded in the precision of x.
func Example() {
	fmt.Printf("%.4f %.4f\n", special.Digamma(2.0), special.LowerGamma(3.0, 2.0))
	fmt.Printf("%.6f %.6f\n", special.BesselJ0[float32](1e6), special.BesselJ0[float64](1e6))
	// Output:
	// 0.4228 0.3233
	// 0.000311 0.000331
}
