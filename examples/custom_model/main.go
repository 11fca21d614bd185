// Command custom_model trains with a custom model_fn and input_fn: a
// two-layer network on the built-in glyphs.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/tensor"
)

func modelFn(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	x := ops.Mul(mc, ops.Cast(mc, layers.Flatten(mc, features.Only()), tensor.Float32), ops.Scalar(mc, tensor.Float32, 1.0/255))
	x = layers.Dense(mc, x, 128, layers.Weights{Activation: ops.Relu})
	logits := layers.Dense(mc, layers.Dropout(mc, x, 0.1), 10, layers.Weights{})
	classes := ops.ArgMax(mc, logits, 1)
	spec := &estimator.Spec{Predictions: estimator.Nodes{"class": classes}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	label := labels.Only()
	spec.Loss = losses.SparseSoftmaxCrossEntropy(mc, label, logits, losses.Options{})
	spec.EvalMetrics = estimator.Metrics{"accuracy": estimator.NewMetric("accuracy", label, classes)}
	if mc.Mode() == models.Train {
		adam := optimizers.Adam(0.002)
		spec.TrainOp = adam.Minimize(mc, spec.Loss)
	}
	return spec, nil
}

func inputFn(ctx context.Context, ic inputs.Context) (inputs.Dataset, error) {
	return inputs.Open(ctx, inputs.Spec{Format: "glyphs", Count: 20_000, Repeat: ic.Mode == models.Train, BatchSize: 64}, ic)
}

func main() {
	ctx, input := context.Background(), estimator.InputFunc(inputFn)
	est, err := estimator.New(estimator.ModelFunc(modelFn))
	if err != nil {
		log.Fatal(err)
	}
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: input, MaxSteps: 400}, estimator.EvalSpec{Input: input})
	if err != nil {
		log.Fatal(err)
	}
	accuracy, _ := res.Eval.Scalar("accuracy")
	fmt.Printf("accuracy above 0.9: %v\n", accuracy > 0.9)
}
