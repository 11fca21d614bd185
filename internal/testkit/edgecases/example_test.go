package edgecases_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/testkit/edgecases"
)

func ExampleProduct() {
	for _, operand := range edgecases.Product([]float64{0, 1, 2}, []float64{5, 7}) {
		fmt.Println(operand)
	}
	// Output:
	// [0 1 2 0 1 2]
	// [5 5 5 7 7 7]
}
