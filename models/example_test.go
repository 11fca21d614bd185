package models_test

import (
	"fmt"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// A small classifier: what a model_fn does with its Builder.
func Example() {
	b, err := models.Build(models.Options{Mode: models.Train, Batch: 32}, func(b *models.Builder) error {
		x := b.Input("x", tensor.Float32, b.Batch(), 4)
		labels := b.Input("labels", tensor.Int64, b.Batch())
		hidden := layers.Dense(b, x, 16, layers.Weights{Activation: ops.Relu})
		logits := layers.Dense(b, hidden, 3, layers.Weights{})
		loss := losses.SparseSoftmaxCrossEntropy(b, labels, logits, losses.Options{})
		fmt.Println("logits", logits.Shape(), "loss", loss.Shape())
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range b.TrainableVariables() {
		fmt.Println(v.Name, v.Shape)
	}
	// Output:
	// logits (32, 3) loss ()
	// dense/kernel [4 16]
	// dense/bias [16]
	// dense_1/kernel [16 3]
	// dense_1/bias [3]
}
