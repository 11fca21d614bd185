// Command own_binary is goestimator's command line with a custom model and
// input: `own_binary train --config examples/own_binary/xor.yaml`.
package main

import (
	"context"

	"github.com/goestimator/goestimator/cmd/cli"
	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
)

// xorModel is a network with one hidden layer; the config sets its width and optimizer.
func xorModel(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
	units, _ := mc.Params().Int("units", 8)
	hidden := layers.Dense(mc, features.Dense("bits"), units, layers.Weights{Activation: ops.Tanh})
	logits := layers.Dense(mc, hidden, 1, layers.Weights{})
	p := ops.Sigmoid(mc, logits)
	spec := &estimator.Spec{Predictions: estimator.Nodes{"xor": p}}
	if mc.Mode() == models.Predict {
		return spec, nil
	}
	spec.Loss = losses.SigmoidCrossEntropy(mc, labels.Only(), logits, losses.Options{})
	spec.EvalMetrics = estimator.Metrics{"accuracy": estimator.NewMetric("binary_accuracy", labels.Only(), p)}
	if mc.Mode() == models.Train {
		spec.TrainOp = mc.Optimizer().Minimize(mc, spec.Loss) // the config's
	}
	return spec, nil
}

func xorInput(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	ds, err := inputs.Slices(ic.Allocator,
		inputs.Slice("bits", inputs.Feature, []float32{0, 0, 0, 1, 1, 0, 1, 1}, 2),
		inputs.Slice("xor", inputs.Label, []float32{0, 1, 1, 0}, 1))
	if err != nil {
		return nil, err
	}
	if ic.Mode == models.Train {
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(4, false)), nil
}

func main() {
	cli.Main(cli.WithName("own_binary"), cli.WithModel("xor", estimator.ModelFunc(xorModel)), cli.WithInput("xor", estimator.InputFunc(xorInput)))
}
