package estimator

import (
	"context"
	"github.com/goestimator/goestimator/internal/training/rule"
	"log/slog"
	"testing"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/models/optimizers"
	"github.com/goestimator/goestimator/runconfig"
)

// line is y = w*x + b: a step does little more than the loop's own work.
func line(mc *ModelContext, features models.Features, labels models.Labels) (*Spec, error) {
	return scaledLine(mc, features, labels, optimizers.LossScale{})
}

func scaledLine(mc *ModelContext, features models.Features, labels models.Labels, scale optimizers.LossScale) (*Spec, error) {
	y := layers.Dense(mc, features.Dense("x"), 1, layers.Weights{})
	loss := losses.MeanSquaredError(mc, labels.Only(), y, losses.Options{})
	o := optimizers.Optimizer{Rule: rule.SGD{}, LearningRate: optimizers.Constant(0.01), LossScale: scale}
	return &Spec{Loss: loss, TrainOp: o.Minimize(mc, loss)}, nil
}

// lineInput is a few rows in memory, repeated, one at a time.
func lineInput(context.Context, inputs.Context) (inputs.Dataset, error) {
	x, y := []float32{0, 1, 2, 3}, []float32{1, 3, 5, 7}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x, 1), inputs.Slice("y", inputs.Label, y, 1))
	return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(1, true)), err
}

// openLine opens a training with the default hooks, which write nothing after the first steps.
func openLine(tb testing.TB, fn ModelFunc) *training {
	tb.Helper()
	rc, err := runconfig.New(runconfig.ModelDir(tb.TempDir()), runconfig.TFRandomSeed(1), runconfig.LogStepCountSteps(1<<40),
		runconfig.SaveSummarySteps(1<<40), runconfig.SaveCheckpointsSteps(1<<40))
	if err != nil {
		tb.Fatal(err)
	}
	e, err := New(fn, WithRunConfig(rc), WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		tb.Fatal(err)
	}
	o, err := newRunOptions([]TrainOption{MaxSteps(1 << 40)}, TrainOption.forTrain)
	if err != nil {
		tb.Fatal(err)
	}
	t, err := e.openTraining(context.Background(), InputFunc(lineInput), e.localStrategy(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := t.close(); err != nil {
			tb.Error(err)
		}
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := t.loop.start(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return t
}

// step reads a batch and trains on it.
func step(tb testing.TB, t *training) {
	ctx := context.Background()
	if over, err := t.turn(ctx); over || err != nil {
		tb.Fatal(over, err)
	}
}

// again trains once more on the batch that is staged.
func again(tb testing.TB, t *training) {
	ctx := context.Background()
	if over, err := t.trainStep(ctx, distribute.Step{Batches: t.input.now.batches()}); over || err != nil {
		tb.Fatal(over, err)
	}
}

// A step on a staged record allocates nothing between two lines of the log. Neither does a step that reads
// little data in memory again.
func TestStepAllocatesNothing(t *testing.T) {
	scaled := func(mc *ModelContext, features models.Features, labels models.Labels) (*Spec, error) {
		return scaledLine(mc, features, labels, optimizers.LossScale{Initial: 0x1p126, GrowthSteps: 2}) // some overflow
	}
	for _, fn := range []ModelFunc{line, scaled} {
		tr := openLine(t, fn)
		for range 8 { // the first steps are logged, saved and compiled for their batch size; the data is read once
			step(t, tr)
		}
		if n := testing.AllocsPerRun(100, func() { step(t, tr) }); n != 0 {
			t.Errorf("reading and a training step allocate %v objects, expected none", n)
		}
		if n := testing.AllocsPerRun(100, func() { again(t, tr) }); n != 0 {
			t.Errorf("a training step allocates %v objects, expected none", n)
		}
	}
}

// BenchmarkTrainStep is the loop around the kernels: a 1x1 linear model at batch 1 with the default hooks, on
// a staged record, and with reading the record from memory.
func BenchmarkTrainStep(b *testing.B) {
	for name, fn := range map[string]func(testing.TB, *training){"ready": again, "memory": step} {
		b.Run(name, func(b *testing.B) {
			t := openLine(b, line)
			step(b, t)
			b.ReportAllocs()
			for b.Loop() {
				fn(b, t)
			}
		})
	}
}
