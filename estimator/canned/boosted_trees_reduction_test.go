package canned_test

import (
	"context"
	"log/slog"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/goestimator/goestimator/tensor"
)

func twoLabels(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	var x []float32
	var y []int64
	for i := range 200 {
		x = append(x, float32(i%20))
		y = append(y, int64(i%20/10), int64(i%20%3/2))
	}
	ds, err := inputs.Slices(nil, inputs.Slice("x", inputs.Feature, x), inputs.Slice("y", inputs.Label, y, 2))
	if err != nil {
		return nil, err
	}
	if ic.Mode == inputs.Train {
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(200, false)), nil
	}
	return inputs.Pipe(ds, inputs.Batch(200, false)), nil
}

// TestBoostedTreesReduction: the trees are the same whether losses are summed or averaged.
func TestBoostedTreesReduction(t *testing.T) {
	var values [2]*tensor.Tensor
	for i, r := range []losses.Reduction{losses.SumOverBatchSize, losses.Sum} {
		h := heads.MultiLabel(2, heads.WithLossReduction(r))
		fn, err := canned.BoostedTreesEstimator{Head: h, BoostedTreesOptions: canned.BoostedTreesOptions{Columns: []feature.Column{&feature.Numeric{Key: "x"}}, Trees: 2, MaxDepth: 2, L2: 0.01}}.ModelFn()
		if err != nil {
			t.Fatal(err)
		}
		rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1))
		if err != nil {
			t.Fatal(err)
		}
		e, err := estimator.New(fn, estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Train(t.Context(), estimator.InputFunc(twoLabels)); err != nil {
			t.Fatal(err)
		}
		if values[i], err = e.VariableValue("boosted_trees/value"); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range tensor.Values[float32](values[0]) {
		if w := tensor.Values[float32](values[1])[i]; math.Abs(float64(v-w)) > 1e-4 {
			t.Fatalf("value %d is %v of the mean loss and %v of the sum", i, v, w)
		}
	}
}

// TestBoostedTreesInMemoryReduction: the reported loss is reduced as the head says.
func TestBoostedTreesInMemoryReduction(t *testing.T) {
	for r, want := range map[losses.Reduction]float64{losses.SumOverBatchSize: (100 + 60) / 400.0, losses.Sum: 100 + 60} {
		h := heads.Regression(2, heads.WithLossReduction(r))
		rc, err := runconfig.FromTFConfig("", runconfig.ModelDir(t.TempDir()), runconfig.TFRandomSeed(1))
		if err != nil {
			t.Fatal(err)
		}
		e, err := canned.BoostedTreesEstimator{Head: h, BoostedTreesOptions: canned.BoostedTreesOptions{Columns: []feature.Column{&feature.Numeric{Key: "x"}}, Trees: 2, MaxDepth: 2,
			TrainInMemory: true}}.New(estimator.WithRunConfig(rc), estimator.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Train(t.Context(), estimator.InputFunc(twoLabels)); err != nil {
			t.Fatal(err)
		}
		v, err := e.VariableValue("boosted_trees/loss")
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Float(0); math.Abs(got-want) > 1e-5 {
			t.Errorf("%s: loss %v, expected %v", r, got, want)
		}
	}
}
