package metrics_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

func TestWeightShapes(t *testing.T) {
	values := shaped([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	cube := shaped([]int{2, 1, 2}, 1, 2, 3, 4)
	for name, c := range map[string]struct {
		values, weights *tensor.Tensor
		want            float64
	}{
		"nil":         {values, nil, 3.5},
		"scalar":      {values, tensor.Scalar[float32](2), 3.5},
		"zero":        {values, tensor.Scalar[int32](0), 0},
		"[1]":         {values, dense(3), 3.5},
		"[B]":         {values, dense(1, 0), 2},
		"[B,1]":       {values, shaped([]int{2, 1}, 0, 1), 5},
		"[B,1,1]":     {values, shaped([]int{2, 1, 1}, 0, 1), 5},
		"[1,C]":       {values, shaped([]int{1, 3}, 1, 0, 0), 2.5},
		"[B,C]":       {values, shaped([]int{2, 3}, 1, 0, 0, 0, 0, 1), 3.5},
		"bool [B]":    {values, must(tensor.FromSlice([]bool{true, false}, 2)), 2},
		"middle 1":    {shaped([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8), shaped([]int{2, 1, 2}, 1, 0, 0, 0), 2},
		"same shape":  {cube, cube, 3},
		"no values":   {tensor.New(tensor.Float32, 0, 3), tensor.New(tensor.Float32, 0), 0},
		"scalar loss": {tensor.Scalar(2.5), tensor.Scalar(128.0), 2.5},
	} {
		m := metrics.NewMean()
		if err := m.Update(c.values, c.weights); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		near(t, name, []float64{c.want}, m.Result().Data)
	}
}

func TestLabelTypes(t *testing.T) {
	predictions := must(tensor.FromSlice([]int64{0, 1, 1}, 3, 1))
	for _, labels := range []*tensor.Tensor{
		must(tensor.FromSlice([]int8{0, 1, 0}, 3)), must(tensor.FromSlice([]int16{0, 1, 0}, 3)),
		must(tensor.FromSlice([]int32{0, 1, 0}, 3)), must(tensor.FromSlice([]int64{0, 1, 0}, 3)),
		must(tensor.FromSlice([]uint8{0, 1, 0}, 3)), must(tensor.FromSlice([]uint16{0, 1, 0}, 3)),
		must(tensor.FromSlice([]uint32{0, 1, 0}, 3)), must(tensor.FromSlice([]uint64{0, 1, 0}, 3)),
		must(tensor.FromSlice([]float32{0, 1, 0}, 3)), must(tensor.FromSlice([]bool{false, true, false}, 3)),
	} {
		m := metrics.NewAccuracy()
		if err := m.Update(labels, predictions); err != nil {
			t.Fatal(err)
		}
		near(t, labels.DType.String(), []float64{2. / 3}, m.Result().Data)
	}
}

// Each error names what was expected and what was given.
func TestBadValues(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		params []metrics.Param
		args   []*tensor.Tensor
		want   string
	}{
		{"accuracy", nil, []*tensor.Tensor{dense(0, 1), dense(0, 0.5)}, "whole class ids, got 0.5 at element 1"},
		{"accuracy", nil, []*tensor.Tensor{dense(0, 1), dense(0, math.Inf(1))}, "got +Inf at element 1"},
		{"confusion_matrix", params(metrics.WithClasses(2)), []*tensor.Tensor{dense(0, 2), dense(0, 1)}, "labels: expected class ids in [0, 2), got 2 at element 1"},
		{"confusion_matrix", params(metrics.WithClasses(2)), []*tensor.Tensor{dense(0, 1), dense(-1, 1)}, "predictions: expected class ids in [0, 2), got -1 at element 0"},
		{"top_k", params(metrics.WithK(1)), []*tensor.Tensor{dense(3), shaped([]int{1, 3}, 1, 2, 3)}, "[0, 3), got 3"},
		{"top_k", params(metrics.WithK(1)), []*tensor.Tensor{dense(0), dense(1)}, "predictions: expected shape [batch, classes], got [1]"},
		{"top_k", params(metrics.WithK(1)), []*tensor.Tensor{dense(0), tensor.New(tensor.Float32, 1, 0)}, "got [1 0]"},
		{"sparse_categorical_crossentropy", nil, []*tensor.Tensor{dense(0, 1), shaped([]int{1, 2}, 1, 2)}, "labels: expected shape [1] for predictions [1 2], got [2]"},
		{"auc", nil, []*tensor.Tensor{dense(0, 1), dense(0, 1.5)}, "predictions: expected values in [0, 1], got 1.5 at element 1"},
		{"auc", nil, []*tensor.Tensor{dense(0, 1), dense(0, nan)}, "got NaN at element 1"},
		{"precision", nil, []*tensor.Tensor{dense(0, 2), dense(0, 1)}, "labels: expected 0 or 1, got 2 at element 1"},
		{"log_loss", nil, []*tensor.Tensor{dense(-1), dense(0)}, "labels: expected values in [0, 1], got -1"},
		{"mse", nil, []*tensor.Tensor{shaped([]int{2, 1}, 1, 2), shaped([]int{2, 2}, 1, 2, 3, 4)}, "labels [2 1] and predictions [2 2]"},
		{"mean", nil, []*tensor.Tensor{tensor.New(tensor.BFloat16, 1)}, "got bfloat16"},
		{"mean", nil, []*tensor.Tensor{{DType: tensor.Float32, Shape: []int{-1}}}, "expected a known shape, got [-1]"},
	} {
		a := must(metrics.New(c.name, c.params...))
		if err := a.Update(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected an error with %q, got %v", c.name, c.want, err)
		}
	}
}

// A NaN among the values or errors makes the result NaN.
func TestNaNShows(t *testing.T) {
	for _, name := range []string{"mean", "min", "max"} {
		a := must(metrics.New(name))
		if err := a.Update(dense(math.Inf(-1), 1, math.NaN(), math.Inf(1))); err != nil {
			t.Fatal(err)
		}
		near(t, name, []float64{math.NaN()}, a.Result().Data)
	}
	a := metrics.NewLogLoss()
	if err := a.Update(dense(1), dense(math.NaN())); err != nil {
		t.Fatal(err)
	}
	near(t, "log_loss", []float64{math.NaN()}, a.Result().Data)
}

func TestNewErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		params []metrics.Param
		is     error
		want   string
	}{
		{"acuracy", nil, metrics.ErrUnknown, `"acuracy": expected one of accuracy, accuracy_baseline, auc,`},
		{"accuracy", params(metrics.WithK(1)), metrics.ErrParameter, "k: expected no parameters"},
		{"auc", params(metrics.WithThresholds(0.5)), metrics.ErrParameter, "thresholds: expected num_thresholds or summation"},
		{"auc", params(metrics.WithNumThresholds(1)), metrics.ErrParameter, "got 1"},
		{"auc", params(metrics.WithSummation("simpson")), metrics.ErrParameter, `got "simpson"`},
		{"precision", params(metrics.WithThresholds(0.5, 1.5)), metrics.ErrParameter, "got 1.5"},
		{"binary_accuracy", params(metrics.WithThresholds(-1)), metrics.ErrParameter, "got -1"},
		{"binary_accuracy", params(metrics.WithThresholds(0.1, 0.2)), metrics.ErrParameter, "one threshold"},
		{"top_k", nil, metrics.ErrParameter, "expected k, got none"},
		{"top_k", params(metrics.WithK(0)), metrics.ErrParameter, "got 0"},
		{"confusion_matrix", params(metrics.WithClasses(0)), metrics.ErrParameter, "got 0"},
		{"mean_iou", params(metrics.WithClasses(1 << 20)), metrics.ErrParameter, "got 1048576"},
		{"precision_at_recall", nil, metrics.ErrParameter, "expected bound, got none"},
		{"precision_at_recall", params(metrics.WithBound(2)), metrics.ErrParameter, "got 2"},
		{"precision_at_recall", params(metrics.WithBound(0.5), metrics.WithNumThresholds(-1)), metrics.ErrParameter, "got -1"},
	} {
		a, err := metrics.New(c.name, c.params...)
		if a != nil || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected an error with %q, got %v and %v", c.name, c.want, a, err)
		}
	}
	if _, err := metrics.NewAUC(metrics.AUCOptions{Curve: "DET"}); !errors.Is(err, metrics.ErrParameter) {
		t.Errorf("curve DET: %v", err)
	}
}

// The operating points with one threshold look at 0.5 only.
func TestOperatingPointOneThreshold(t *testing.T) {
	m := must(metrics.NewRecallAtPrecision(0.8, 1))
	if err := m.Update(dense(0, 1, 1), dense(0.6, 0.7, 0.2)); err != nil {
		t.Fatal(err)
	}
	near(t, "no point keeps the bound", []float64{0}, m.Result().Data)
}

func FuzzUnmarshal(f *testing.F) {
	seed := must(metrics.NewPrecision(0.25, 0.5))
	f.Add(must(seed.MarshalBinary()))
	f.Add([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		a := must(metrics.NewPrecision(0.25, 0.5))
		if a.UnmarshalBinary(data) != nil {
			equal(t, "after a refused state", must(metrics.NewPrecision(0.25, 0.5)).Result(), a.Result())
		}
	})
}
