package heads_test

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/losses"
)

// TestModelOfWrongParts: New reports what a constructor was given, and no part panics.
func TestModelOfWrongParts(t *testing.T) {
	two := heads.Multi(heads.BinaryClass(heads.WithName("a")), nil)
	for want, fn := range map[string]estimator.ModelFn{
		"n_classes must be > 2: 1":                   heads.MultiClass(1).Of(passThrough),
		"the network is nil":                         heads.MultiClass(3).Of(nil),
		"the head is nil":                            heads.ModelFn(passThrough, nil, sgd(1)),
		"must have name specified. Head 1 has none":  two.Of(passThrough),
		"sequential head: <nil> is not supported":    heads.Sequential(nil, "").Of(passThrough),
		"invalid label_dimension 0":                  heads.Sequential(heads.Regression(0), "").Of(passThrough),
		"must specify heads":                         heads.Multi().Weighted(1, 2).Of(passThrough),
		"the same size. Given len(heads): 1":         heads.Multi(heads.BinaryClass(heads.WithName("a"))).Weighted(1, 2).Of(passThrough),
		`weight_column, loss_reduction, thresholds`:  heads.BinaryClass(heads.WithFullLoss(true)).Of(passThrough),
		"thresholds not in (0, 1)":                   heads.MultiLabel(2, heads.WithThresholds(2)).Of(passThrough),
		"invalid label_dimension -1":                 heads.Poisson(-1).Of(passThrough),
		"expected one of name, weight_column":        heads.Logistic(heads.WithFullLoss(false)).Of(passThrough),
		"two heads have the name \"a\"":              heads.Multi(heads.Regression(1, heads.WithName("a")), heads.Regression(1, heads.WithName("a"))).Of(passThrough),
		"invalid loss_reduction: \"none\": expected": heads.Regression(1, heads.WithLossReduction(losses.None)).Of(passThrough),
	} {
		if _, err := estimator.New(fn); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	for _, h := range []heads.Head{two, heads.Multi(), heads.Sequential(nil, ""), heads.MultiClass(0)} {
		h.Name()
		h.LogitsDimension()
		h.LossReduction()
	}
}

// TestEstimatorsOptimizer: the Estimator's optimizer trains a head without one.
func TestEstimatorsOptimizer(t *testing.T) {
	in := batchesOf(2, inputs.Slice("logits", inputs.Feature, []float32{0, 1}, 1), inputs.Slice("y", inputs.Label, []float32{1, 0}, 1))
	train := func(opts ...estimator.Option) error {
		e, err := estimator.New(heads.Regression(1).Of(passThrough), append(opts, estimator.WithModelDir(t.TempDir()))...)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		_, err = e.Train(context.Background(), in, estimator.Steps(1))
		return err
	}
	if err := train(estimator.WithOptimizer(sgd(0.1))); err != nil {
		t.Error(err)
	}
	if err := train(); err == nil || !strings.Contains(err.Error(), "by WithOptimizer") {
		t.Errorf("got %v, expected an error that names WithOptimizer", err)
	}
	if _, err := estimator.New(heads.Regression(1).Of(passThrough), estimator.WithOptimizer(nil)); err == nil {
		t.Error("expected an error for a nil optimizer")
	}
}
