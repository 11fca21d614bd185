package ops_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// Errors stick: a chain of ops needs one check.
func Example() {
	_, err := models.Build(models.Options{Batch: 8}, func(b *models.Builder) error {
		x := b.Input("x", tensor.Float32, b.Batch(), 4)
		w := b.Variable("w", []int{5, 2})
		y := ops.Relu(b, ops.MatMul(b, x, w))
		fmt.Println(y == nil)
		return nil
	})
	fmt.Println(err)
	// Output:
	// true
	// MatMul: shapes (8, 4) and (5, 2) (transposed: false, false): the inner dimensions differ
}
