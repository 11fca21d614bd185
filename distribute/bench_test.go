package distribute_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator"
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

// benchRows is how many rows a step of the benchmark takes.
const benchRows = 128

// benchData is rows without end.
func benchData(b *testing.B) inputs.Dataset {
	b.Helper()
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, make([]float32, 784*benchRows), 784), inputs.Slice("y", inputs.Label, make([]int32, benchRows)))
	if err != nil {
		b.Fatal(err)
	}
	return inputs.Pipe(ds, inputs.Repeat(0))
}

func benchLoss(c models.Context, x, y *G.Node) (*G.Node, *optimizers.TrainOp) {
	logits := layers.Dense(c, layers.Dense(c, x, 128, layers.Weights{Activation: ops.Relu}), 10, layers.Weights{})
	loss := losses.SparseSoftmaxCrossEntropy(c, y, logits, losses.Options{})
	return loss, optimizers.Adam(0.001).Minimize(c, loss)
}

// estimatorStep returns what makes a step of the Estimator's loop.
func estimatorStep(b *testing.B, rc runconfig.RunConfig) func() error {
	b.Helper()
	model := estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		loss, train := benchLoss(mc, features.Only(), labels.Only())
		return &estimator.Spec{Loss: loss, TrainOp: train}, nil
	})
	input := func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		return inputs.Pipe(benchData(b), inputs.Batch(benchRows/ic.ReplicasInSync, false)), nil
	}
	l, err := estimator.OpenLoop(b.Context(), model, estimator.InputFunc(input), estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(context.Background()) })
	return func() error {
		_, err := l.Step(b.Context())
		return err
	}
}

// customStep returns what makes a step of a loop of one's own.
func customStep(b *testing.B, rc runconfig.RunConfig) func() error {
	b.Helper()
	s, err := distribute.New(rc, quiet)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(context.Background()) })
	f, err := s.Function("train", models.Train, func(c *distribute.Context) (distribute.Outputs, error) {
		loss, train := benchLoss(c, c.Arg("x", tensor.Float32, 784), c.Arg("y", tensor.Int32))
		return distribute.Outputs{Loss: loss, Train: train}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	data, err := s.Distribute(benchData(b), benchRows, distribute.ShardRows)
	if err != nil {
		b.Fatal(err)
	}
	it, err := data.Iterate(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return func() error {
		batch, err := it.Next(b.Context())
		if err == nil {
			_, err = f.Run(b.Context(), batch)
		}
		return err
	}
}

// BenchmarkCustomLoop alternates steps of the Estimator's loop and of one's own, and reports
// how long the latter take as a multiple of the former: "ratio".
func BenchmarkCustomLoop(b *testing.B) {
	for name, s := range map[string]runconfig.Strategy{"default": {Name: "default"}, "mirrored": {Name: "mirrored", Replicas: 2}} {
		b.Run(name, func(b *testing.B) {
			rc, err := runconfig.New(runconfig.ModelDir(b.TempDir()), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(s), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: 1}))
			if err != nil {
				b.Fatal(err)
			}
			subjects := []func() error{estimatorStep(b, rc), customStep(b, rc)}
			var took [2]time.Duration
			for b.Loop() {
				for i, step := range subjects {
					began := time.Now()
					if err := step(); err != nil {
						b.Fatal(err)
					}
					took[i] += time.Since(began)
				}
			}
			b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "ratio")
		})
	}
}
