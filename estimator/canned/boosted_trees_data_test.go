package canned_test

import (
	"context"
	"log/slog"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/runconfig"
)

// regress trains trees on a number x, which may be NaN, in one batch or in memory.
func regress(t *testing.T, x, y []float32, inMemory bool) (loss float64, err error) {
	t.Helper()
	in := estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x), inputs.Slice("y", inputs.Label, y))
		if err != nil {
			return nil, err
		}
		if ic.Mode == inputs.Train {
			return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(len(x), false)), nil
		}
		return inputs.Pipe(ds, inputs.Batch(3, false)), nil
	})
	rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1))
	if err != nil {
		t.Fatal(err)
	}
	e, err := canned.BoostedTreesRegressor{BoostedTreesOptions: canned.BoostedTreesOptions{Trees: 40, LearningRate: 0.5, MaxDepth: 3,
		TrainInMemory: inMemory, Columns: []feature.Column{&feature.Numeric{Key: "x", AllowNaN: true}}}}.New(
		estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if _, err := e.Train(t.Context(), in); err != nil {
		return 0, err
	}
	r, err := e.Evaluate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	loss, _ = r.Scalar("average_loss")
	return loss, nil
}

// TestBoostedTreesMissingNumbers: the evaluation graph sends NaN and infinite numbers the same way as
// training. NaN and -Inf share a bucket here, as do Inf, the largest number and 7.
func TestBoostedTreesMissingNumbers(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := []float32{1, nan, 3, nan, inf, -inf, math.MaxFloat32, 7, 2, -math.MaxFloat32}
	y := []float32{5, -1, 5, -1, 9, -4, 9, 7, 2, -3}
	for _, inMemory := range []bool{false, true} {
		loss, err := regress(t, x, y, inMemory)
		if want := (6 + 8.0/3) / 10; err != nil || math.Abs(loss-want) > 1e-5 {
			t.Errorf("in memory %v: loss %v, expected %v; error %v", inMemory, loss, want, err)
		}
	}
}

func TestBoostedTreesWrongLabels(t *testing.T) {
	for _, inMemory := range []bool{false, true} {
		if _, err := regress(t, []float32{1, 2}, []float32{3, float32(math.NaN())}, inMemory); err == nil || !contains(err, `row 2: column "y": label NaN: labels must be finite`) {
			t.Errorf("in memory %v: got error %v", inMemory, err)
		}
	}
}
