// Command two_inputs trains a model with two inputs, a picture and a number: it
// counts the dark pixels of the picture and adds the number.
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
)

func modelFn(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	picture := layers.Dense(mc, features.Dense("picture"), 16, layers.Weights{Activation: ops.Relu})
	number := layers.Dense(mc, features.Dense("number"), 16, layers.Weights{Activation: ops.Relu})
	both := layers.Dense(mc, ops.Concat(mc, 1, picture, number), 32, layers.Weights{Activation: ops.Relu})
	sum := layers.Dense(mc, both, 1, layers.Weights{})
	spec := &estimator.Spec{Predictions: estimator.Nodes{"sum": sum}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.MeanSquaredError(mc, labels.Only(), sum, losses.Options{})
	if mc.Mode() == models.Train {
		spec.TrainOp = optimizers.Adam(0.01).Minimize(mc, spec.Loss)
	}
	return spec, nil
}

// draw makes n examples: a bar of random height in 4x4 pixels, a number, and their sum.
func draw(n int, seed uint64) []inputs.NamedTensor {
	r := rand.New(rand.NewPCG(seed, 1))
	pictures, numbers, sums := make([]float32, 16*n), make([]float32, n), make([]float32, n)
	for i := range n {
		height := r.IntN(4) + 1
		for p := range height {
			pictures[16*i+4*p+r.IntN(4)] = 1
		}
		numbers[i] = float32(r.IntN(4))
		sums[i] = float32(height) + numbers[i]
	}
	return []inputs.NamedTensor{inputs.Slice("picture", inputs.Feature, pictures, 16),
		inputs.Slice("number", inputs.Feature, numbers, 1), inputs.Slice("sum", inputs.Label, sums, 1)}
}

func input(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	if ic.Mode == inputs.Train {
		ds, err := inputs.Slices(nil, draw(2000, 1)...)
		return inputs.Pipe(ds, inputs.Shuffle(2000, 1), inputs.Repeat(0), inputs.Batch(32, true)), err
	}
	ds, err := inputs.Slices(nil, draw(200, 2)...)
	return inputs.Pipe(ds, inputs.Batch(100, false)), err
}

func main() {
	ctx, in := context.Background(), estimator.InputFunc(input)
	est, err := estimator.New(estimator.ModelFunc(modelFn))
	if err != nil {
		log.Fatal(err)
	}
	res, err := estimator.TrainAndEvaluate(ctx, est, estimator.TrainSpec{Input: in, MaxSteps: 1000}, estimator.EvalSpec{Input: in})
	if err != nil {
		log.Fatal(err)
	}
	loss, _ := res.Eval.Scalar("loss")
	fmt.Printf("mean squared error below 0.05: %v\n", loss < 0.05)
}
