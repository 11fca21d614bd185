package scalar_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops/scalar"
)

func Example() {
	fmt.Println(scalar.Sigmoid(0), scalar.Elu(2), scalar.Softsign(-3))
	// Output: 0.5 2 -0.75
}
