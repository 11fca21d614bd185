package layers_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// A convolution block and its variables.
func Example() {
	b, err := models.Build(models.Options{Mode: models.Train, Batch: 16}, func(b *models.Builder) error {
		x := b.Input("image", tensor.Float32, b.Batch(), 28, 28, 1)
		x = layers.Conv2D(b, x, 8, layers.SquareWindow(3, 1, ops.Same), layers.Weights{NoBias: true})
		x = ops.Relu(b, layers.BatchNorm(b, x, layers.Norm{}))
		x = layers.MaxPool2D(b, x, layers.SquareWindow(2, 2, ops.Valid))
		fmt.Println(layers.Flatten(b, x).Shape())
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range b.Variables() {
		fmt.Println(v.Name, v.Shape)
	}
	// Output:
	// (16, 1568)
	// conv2d/kernel [3 3 1 8]
	// batch_normalization/gamma [8]
	// batch_normalization/beta [8]
	// batch_normalization/moving_mean [8]
	// batch_normalization/moving_variance [8]
}
