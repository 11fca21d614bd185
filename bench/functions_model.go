package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// tutorial is the program that all tasks of the subject functions run.
type tutorial struct {
	*distribute.Strategy
	empty, step *distribute.Remote
	data        *distribute.WorkerDataset
}

// newTutorial makes a task's program.
func newTutorial(rc runconfig.RunConfig) (p *tutorial, err error) {
	p = &tutorial{}
	if p.Strategy, err = distribute.New(rc, distribute.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		return nil, err
	}
	if err := p.define(tutorialFixtures()); err != nil {
		return nil, errors.Join(err, p.Close(context.Background()))
	}
	return p, nil
}

func (p *tutorial) define(g *fixtures) error {
	if _, err := p.Metric("accuracy", func() (metrics.Accumulator, error) { return metrics.NewAccuracy(), nil }); err != nil {
		return err
	}
	train, err := p.train(g)
	if err != nil {
		return err
	}
	p.empty, err = p.Remote("empty", func(context.Context, *distribute.RemoteCall) ([]*tensor.Tensor, error) { return nil, nil })
	if err != nil {
		return err
	}
	p.step, err = p.Remote("step", func(ctx context.Context, call *distribute.RemoteCall) ([]*tensor.Tensor, error) {
		it, err := call.Iterator(0)
		if err != nil {
			return nil, err
		}
		batch, err := it.Next(ctx)
		if err != nil {
			return nil, err
		}
		res, err := train.Run(ctx, batch)
		if err != nil {
			return nil, err
		}
		return []*tensor.Tensor{tensor.Scalar(res.Loss())}, nil
	})
	if err != nil {
		return err
	}
	p.data, err = p.WorkerDataset("data", func(inputs.Context) (inputs.Dataset, error) { return tutorialData(g) })
	return err
}

// tutorialData repeats the batch without end.
func tutorialData(g *fixtures) (inputs.Dataset, error) {
	x, err := g.get("x")
	if err != nil {
		return nil, err
	}
	y, err := g.get("y")
	if err != nil {
		return nil, err
	}
	ds, err := inputs.Slices(nil, inputs.NamedTensor{Name: "x", Role: inputs.Feature, Tensor: x}, inputs.NamedTensor{Name: "y", Role: inputs.Label, Tensor: y})
	if err != nil {
		return nil, err
	}
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(tutorialBatch, true)), nil
}

// train is the tutorial's training step.
func (p *tutorial) train(g *fixtures) (*distribute.Function, error) {
	optimizer, err := optimizers.New("keras_rmsprop", map[string]any{"learning_rate": tutorialRate})
	if err != nil {
		return nil, err
	}
	table, err := g.get("table")
	if err != nil {
		return nil, err
	}
	kernel, err := g.get("kernel")
	if err != nil {
		return nil, err
	}
	return p.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		x := layers.Embedding(c, c.Arg("x", tensor.Int64, tutorialIDs), tutorialRows, tutorialWidth, layers.Weights{KernelInit: fixtureValue{table}})
		logits := layers.Dense(c, ops.Mean(c, x, ops.Reduction{Axes: []int{1}}), 1, layers.Weights{KernelInit: fixtureValue{kernel}})
		labels := c.Arg("y", tensor.Int64, 1)
		loss := losses.SigmoidCrossEntropy(c, ops.Cast(c, labels, tensor.Float32), logits, losses.Options{})
		predicted := ops.Cast(c, ops.Greater(c, logits, ops.Scalar(c, tensor.Float32, 0)), tensor.Int64)
		return distribute.Outputs{Loss: loss, Train: optimizer.Minimize(c, loss),
			Metrics: map[string][]*G.Node{"accuracy": {labels, predicted}}}, nil
	})
}

// fixtureValue is an initializer with a given value.
type fixtureValue struct{ value *tensor.Tensor }

// Init implements models.Initializer.
func (f fixtureValue) Init(t *tensor.Tensor, _ uint64) error {
	copy(t.Bytes, f.value.Bytes)
	return nil
}
