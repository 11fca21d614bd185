package distribute_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/estimator"
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

// benchRows is the number of rows of a step of the benchmark.
const benchRows = 128

// benchCase is what the benchmark's loops have in common.
type benchCase struct {
	strategy runconfig.Strategy
	width    int                               // of a row
	data     func(b *testing.B) inputs.Dataset // endless rows
	ahead    bool                              // the Estimator's input_fn reads batches ahead, as inputs.Open does
	metric   bool                              // the custom loop updates a metric in each step
}

var benchCases = map[string]benchCase{
	"default":  {runconfig.Strategy{Name: "default"}, 784, memoryData, false, false},
	"mirrored": {runconfig.Strategy{Name: "mirrored", Replicas: 2}, 784, memoryData, false, false},
	"metric":   {runconfig.Strategy{Name: "default"}, 784, memoryData, false, true},
	"csv":      {runconfig.Strategy{Name: "default"}, 64, csvData, true, false},
}

// csvData is rows of a file.
func csvData(b *testing.B) inputs.Dataset {
	b.Helper()
	name := filepath.Join(b.TempDir(), "rows.csv")
	row := strings.Repeat("0.125,", 64) + "1\n"
	if err := os.WriteFile(name, []byte(strings.Repeat(row, 32*benchRows)), 0o600); err != nil {
		b.Fatal(err)
	}
	ds, err := inputs.CSV([]string{name}, inputs.CSVOptions{Columns: []inputs.ColumnSpec{{Name: "x", Shape: []int{64}}, {Name: "y", DType: "int64", Role: inputs.Label}}})
	if err != nil {
		b.Fatal(err)
	}
	return inputs.Pipe(ds, inputs.Repeat(0))
}

// memoryData is rows in memory.
func memoryData(b *testing.B) inputs.Dataset {
	b.Helper()
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, make([]float32, 784*benchRows), 784), inputs.Slice("y", inputs.Label, make([]int64, benchRows)))
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

// estimatorStep returns a function that makes a step of the Estimator's loop.
func (c benchCase) estimatorStep(b *testing.B, rc runconfig.RunConfig) func() error {
	b.Helper()
	model := estimator.ModelFunc(func(mc *estimator.ModelContext, features models.Features, labels models.Labels) (*estimator.Spec, error) {
		loss, train := benchLoss(mc, features.Only(), labels.Only())
		return &estimator.Spec{Loss: loss, TrainOp: train}, nil
	})
	data := c.data(b)
	input := func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ahead := 0
		if c.ahead {
			ahead = 2
		}
		return inputs.Pipe(data, inputs.Batch(benchRows/ic.ReplicasInSync, false), inputs.Prefetch(ahead)), nil
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

// customStep returns a function that makes a step of a custom loop.
func (c benchCase) customStep(b *testing.B, rc runconfig.RunConfig) func() error {
	b.Helper()
	s, err := distribute.New(rc, quiet)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close(context.Background()) })
	if _, err := s.Metric("loss", func() (metrics.Accumulator, error) { return metrics.New("mean") }); err != nil {
		b.Fatal(err)
	}
	f, err := s.Function("train", models.Train, func(fc *distribute.Context) (distribute.Outputs, error) {
		loss, train := benchLoss(fc, fc.Arg("x", tensor.Float32, c.width), fc.Arg("y", tensor.Int64))
		out := distribute.Outputs{Loss: loss, Train: train}
		if c.metric {
			out.Metrics = map[string][]*G.Node{"loss": {loss}}
		}
		return out, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	data, err := s.Distribute(c.data(b), benchRows, distribute.ShardAuto)
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

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return d[len(d)/2].Seconds()
}

// BenchmarkCustomLoop alternates steps of the Estimator's loop and of a custom loop. It reports
// the median time of the custom loop divided by the Estimator's as "ratio".
func BenchmarkCustomLoop(b *testing.B) {
	for name, c := range benchCases {
		b.Run(name, func(b *testing.B) {
			rc, err := runconfig.New(runconfig.ModelDir(b.TempDir()), runconfig.TFRandomSeed(1), runconfig.TrainDistribute(c.strategy), runconfig.Session(runconfig.SessionConfig{IntraOpThreads: 1}))
			if err != nil {
				b.Fatal(err)
			}
			subjects := []func() error{c.estimatorStep(b, rc), c.customStep(b, rc)}
			var took [2][]time.Duration
			for b.Loop() {
				for i, step := range subjects {
					began := time.Now()
					if err := step(); err != nil {
						b.Fatal(err)
					}
					took[i] = append(took[i], time.Since(began))
				}
			}
			b.ReportMetric(median(took[1])/median(took[0]), "ratio")
		})
	}
}
