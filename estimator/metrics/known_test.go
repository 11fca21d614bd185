package metrics_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

// shaped returns a float64 tensor of the given shape.
func shaped(shape []int, values ...float64) *tensor.Tensor {
	return must(tensor.FromSlice(values, shape...))
}

// params is short for a list of parameters.
func params(ps ...metrics.Param) []metrics.Param { return ps }

// The examples in the docstrings of tf.keras.metrics and tf.math, with the results printed there.
func TestTensorFlowDocstrings(t *testing.T) {
	col, mat := []int{4, 1}, []int{2, 2}
	labels5, scores5 := dense(0, 0, 0, 1, 1), dense(0, 0.3, 0.8, 0.3, 0.8)
	errLabels, errPredictions := shaped(mat, 0, 1, 0, 0), shaped(mat, 1, 1, 0, 0)
	probabilities := shaped(mat, 0.6, 0.4, 0.4, 0.6)
	classes := shaped([]int{2, 3}, 0.05, 0.95, 0, 0.1, 0.8, 0.1)
	top := shaped([]int{2, 3}, 0.1, 0.9, 0.8, 0.05, 0.95, 0)
	for _, c := range []struct {
		name   string
		params []metrics.Param
		args   []*tensor.Tensor
		want   float64
	}{
		{"accuracy", nil, []*tensor.Tensor{shaped(col, 1, 2, 3, 4), shaped(col, 0, 2, 3, 4)}, 0.75},
		{"accuracy", nil, []*tensor.Tensor{shaped(col, 1, 2, 3, 4), shaped(col, 0, 2, 3, 4), dense(1, 1, 0, 0)}, 0.5},
		{"binary_accuracy", nil, []*tensor.Tensor{shaped(col, 1, 1, 0, 0), shaped(col, 0.98, 1, 0, 0.6)}, 0.75},
		{"binary_accuracy", nil, []*tensor.Tensor{shaped(col, 1, 1, 0, 0), shaped(col, 0.98, 1, 0, 0.6), dense(1, 0, 0, 1)}, 0.5},
		{"mean", nil, []*tensor.Tensor{dense(1, 3, 5, 7)}, 4},
		{"mean", nil, []*tensor.Tensor{dense(1, 3, 5, 7), dense(1, 1, 0, 0)}, 2},
		{"mse", nil, []*tensor.Tensor{errLabels, errPredictions}, 0.25},
		{"mse", nil, []*tensor.Tensor{errLabels, errPredictions, dense(1, 0)}, 0.5},
		{"rmse", nil, []*tensor.Tensor{errLabels, errPredictions}, 0.5},
		{"rmse", nil, []*tensor.Tensor{errLabels, errPredictions, dense(1, 0)}, 0.70710677},
		{"mae", nil, []*tensor.Tensor{errLabels, errPredictions}, 0.25},
		{"mae", nil, []*tensor.Tensor{errLabels, errPredictions, dense(1, 0)}, 0.5},
		{"log_loss", nil, []*tensor.Tensor{errLabels, probabilities}, 0.81492424},
		{"log_loss", nil, []*tensor.Tensor{errLabels, probabilities, dense(1, 0)}, 0.9162905},
		{"sparse_categorical_crossentropy", nil, []*tensor.Tensor{dense(1, 2), classes}, 1.1769392},
		{"sparse_categorical_crossentropy", nil, []*tensor.Tensor{dense(1, 2), classes, dense(0.3, 0.7)}, 1.6271976},
		{"top_k", params(metrics.WithK(1)), []*tensor.Tensor{dense(2, 1), top}, 0.5},
		{"top_k", params(metrics.WithK(1)), []*tensor.Tensor{dense(2, 1), top, dense(0.7, 0.3)}, 0.3},
		{"precision", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(1, 0, 1, 1)}, 0.6666667},
		{"precision", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(1, 0, 1, 1), dense(0, 0, 1, 0)}, 1},
		{"recall", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(1, 0, 1, 1)}, 0.6666667},
		{"recall", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(1, 0, 1, 1), dense(0, 0, 1, 0)}, 1},
		{"true_positives", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(1, 0, 1, 1)}, 2},
		{"true_positives", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(1, 0, 1, 1), dense(0, 0, 1, 0)}, 1},
		{"false_positives", nil, []*tensor.Tensor{dense(0, 1, 0, 0), dense(0, 0, 1, 1)}, 2},
		{"false_positives", nil, []*tensor.Tensor{dense(0, 1, 0, 0), dense(0, 0, 1, 1), dense(0, 0, 1, 0)}, 1},
		{"true_negatives", nil, []*tensor.Tensor{dense(0, 1, 0, 0), dense(1, 1, 0, 0)}, 2},
		{"false_negatives", nil, []*tensor.Tensor{dense(0, 1, 1, 1), dense(0, 1, 0, 0)}, 2},
		{"sensitivity_at_specificity", params(metrics.WithBound(0.5)), []*tensor.Tensor{labels5, scores5}, 0.5},
		{"sensitivity_at_specificity", params(metrics.WithBound(0.5)), []*tensor.Tensor{labels5, scores5, dense(1, 1, 2, 2, 1)}, 0.333333},
		{"specificity_at_sensitivity", params(metrics.WithBound(0.5)), []*tensor.Tensor{labels5, scores5}, 0.66666667},
		{"specificity_at_sensitivity", params(metrics.WithBound(0.5)), []*tensor.Tensor{labels5, scores5, dense(1, 1, 2, 2, 2)}, 0.5},
		{"precision_at_recall", params(metrics.WithBound(0.5)), []*tensor.Tensor{labels5, scores5}, 0.5},
		{"precision_at_recall", params(metrics.WithBound(0.5)), []*tensor.Tensor{labels5, scores5, dense(2, 2, 2, 1, 1)}, 0.33333333},
		{"recall_at_precision", params(metrics.WithBound(0.8)), []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 0.5, 0.3, 0.9)}, 0.5},
		{"recall_at_precision", params(metrics.WithBound(0.8)), []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 0.5, 0.3, 0.9), dense(1, 0, 0, 1)}, 1},
		{"auc", nil, []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 0.5, 0.3, 0.9)}, 0.75},
		{"auc", params(metrics.WithNumThresholds(3)), []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 0.5, 0.3, 0.9)}, 0.75},
		{"auc", params(metrics.WithNumThresholds(3)), []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 0.5, 0.3, 0.9), dense(1, 0, 0, 1)}, 1},
		{"mean_iou", params(metrics.WithClasses(2)), []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 1, 0, 1)}, 0.33333333},
		{"mean_iou", params(metrics.WithClasses(2)), []*tensor.Tensor{dense(0, 0, 1, 1), dense(0, 1, 0, 1), dense(0.3, 0.3, 0.3, 0.1)}, 0.23809525},
	} {
		a := must(metrics.New(c.name, c.params...))
		if err := a.Update(c.args...); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, ok := a.Result().Scalar(); !ok || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s of %d tensors: expected %v, got %v", c.name, len(c.args), c.want, a.Result())
		}
	}
}

// tf.math.confusion_matrix([1, 2, 4], [2, 2, 4]) of its docstring.
func TestConfusionMatrixDocstring(t *testing.T) {
	m := must(metrics.NewConfusionMatrix(5))
	if err := m.Update(must(tensor.FromSlice([]int32{1, 2, 4}, 3)), must(tensor.FromSlice([]int64{2, 2, 4}, 3))); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 25)
	want[1*5+2], want[2*5+2], want[4*5+4] = 1, 1, 1
	near(t, "matrix", want, m.Result().Data)
	near(t, "tensor", want, tensor.Values[float64](m.Result().Tensor()))
}

// Hand-computed from the formulas of tf.compat.v1.metrics.auc with the thresholds
// -1e-7, 0.5, 1+1e-7, at which tp = 2, 1, 0; fp = 2, 0, 0; fn = 0, 1, 2; tn = 0, 2, 2.
func TestAUCSummations(t *testing.T) {
	const e = 1e-6
	r := []float64{1, (1 + e) / (2 + e), e / (2 + e)} // recall
	f := []float64{2 / (2 + e), 0, 0}                 // false positive rate
	p := []float64{(2 + e) / (4 + e), 1, 1}           // precision
	steps := func(x, y []float64, h func(a, b float64) float64) float64 {
		return (x[0]-x[1])*h(y[0], y[1]) + (x[1]-x[2])*h(y[1], y[2])
	}
	mid := func(a, b float64) float64 { return (a + b) / 2 }
	low := func(a, b float64) float64 { return min(a, b) }
	high := func(a, b float64) float64 { return max(a, b) }
	// First interval: slope 1/3, intercept 2/3, so (1/3)(1 + 2/3 log 4)/2; second: slope 1, 1/2.
	careful := (1+2*math.Log(4)/3)/6 + 0.5
	for _, c := range []struct {
		curve metrics.Curve
		sum   metrics.Summation
		want  float64
	}{
		{metrics.ROC, metrics.Interpolation, 0.75},
		{metrics.ROC, metrics.Trapezoidal, steps(f, r, mid)},
		{metrics.ROC, metrics.CarefulInterpolation, steps(f, r, mid)},
		{metrics.ROC, metrics.Minoring, steps(f, r, low)},
		{metrics.ROC, metrics.Majoring, steps(f, r, high)},
		{metrics.PR, metrics.Interpolation, careful},
		{metrics.PR, metrics.CarefulInterpolation, careful},
		{metrics.PR, metrics.Trapezoidal, steps(r, p, mid)},
		{metrics.PR, metrics.Minoring, steps(r, p, low)},
		{metrics.PR, metrics.Majoring, steps(r, p, high)},
	} {
		m := must(metrics.NewAUC(metrics.AUCOptions{Curve: c.curve, Summation: c.sum, NumThresholds: 3}))
		if err := m.Update(dense(0, 0, 1, 1), dense(0, 0.5, 0.3, 0.9)); err != nil {
			t.Fatal(err)
		}
		near(t, string(c.curve)+" "+string(c.sum), []float64{c.want}, m.Result().Data)
	}
}

// Ties and scores that are not finite count as in tf.math.in_top_k.
func TestTopKTies(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		row  []float64
		k    int
		want float64
	}{
		{[]float64{1, 1, 1}, 1, 1}, // all tie for the first place
		{[]float64{1, 2, 2}, 1, 0},
		{[]float64{1, 2, 2}, 2, 0}, // two are above
		{[]float64{1, 2, 1}, 2, 1}, // ties with the second
		{[]float64{3, 2, nan}, 3, 0},
		{[]float64{inf, 2, 1}, 1, 0},
	} {
		m := must(metrics.NewTopK(c.k))
		if err := m.Update(must(tensor.FromSlice([]uint8{0}, 1)), shaped([]int{1, 3}, c.row...)); err != nil {
			t.Fatal(err)
		}
		near(t, "in top k", []float64{c.want}, m.Result().Data)
	}
}

// Cross entropy stays finite where exp overflows and where a probability is 0.
func TestCrossEntropyExtremes(t *testing.T) {
	logits := metrics.NewSparseCategoricalCrossentropy(true)
	if err := logits.Update(dense(0), shaped([]int{1, 2}, -2000, 2000)); err != nil {
		t.Fatal(err)
	}
	near(t, "logits", []float64{4000}, logits.Result().Data)
	probabilities := metrics.NewSparseCategoricalCrossentropy(false)
	if err := probabilities.Update(dense(0), shaped([]int{1, 2}, 0, 1)); err != nil {
		t.Fatal(err)
	}
	near(t, "probabilities", []float64{-math.Log(1e-7)}, probabilities.Result().Data)
}
