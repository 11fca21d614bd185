package heads_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
)

// TestLabelScale: logits stand for (label - mean) / std. The loss is in their unit, rmse and mae in the unit of the label.
func TestLabelScale(t *testing.T) {
	h, rest, err := heads.FromParams(estimator.Params{"label_dimension": 1, "label_mean": 100, "label_std": 20})
	if err != nil || len(rest) > 0 {
		t.Fatal(err, rest)
	}
	_, _, res, err := run(t, h, inputs.Slice("logits", inputs.Feature, []float32{1, 1}, 1), inputs.Slice("y", inputs.Label, []float32{110, 140}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"average_loss": (0.25 + 1) / 2, "rmse": math.Sqrt((100 + 400) / 2.0), "mae": 15, "prediction/mean": 120, "label/mean": 125} {
		if got, _ := res.Scalar(name); math.Abs(got-want) > 1e-4 {
			t.Errorf("%s %v, expected %v", name, got, want)
		}
	}
}

// TestClassWeights: the training loss is weighed, the loss of evaluation is not.
func TestClassWeights(t *testing.T) {
	for _, c := range []struct {
		classes int
		logits  []float32
		labels  []int64
		weights []any
	}{
		{2, []float32{1, -2, 0.5}, []int64{1, 1, 0}, []any{0.5, 3}},
		{3, []float32{2, 1, 0, 0, 1, 0, 1, 1, 3}, []int64{0, 2, 1}, []any{1, 0, 2.5}},
	} {
		width := len(c.logits) / len(c.labels)
		example := make([]float32, len(c.labels))
		for i, id := range c.labels {
			switch w := c.weights[id].(type) {
			case float64:
				example[i] = float32(w)
			case int:
				example[i] = float32(w)
			}
		}
		logits, labels := inputs.Slice("logits", inputs.Feature, c.logits, width), inputs.Slice("y", inputs.Label, c.labels)
		weighed, _, err := heads.FromParams(estimator.Params{"classes": c.classes, "class_weights": c.weights})
		if err != nil {
			t.Fatal(err)
		}
		plain, _, err := heads.FromParams(estimator.Params{"classes": c.classes})
		if err != nil {
			t.Fatal(err)
		}
		byColumn, _, err := heads.FromParams(estimator.Params{"classes": c.classes, "weight_column": "w"})
		if err != nil {
			t.Fatal(err)
		}
		kernel := func(h heads.Head, columns ...inputs.NamedTensor) float64 {
			e := openHead(t, h)
			if _, err := e.Train(t.Context(), batchesOf(len(c.labels), columns...), estimator.Steps(1)); err != nil {
				t.Fatal(err)
			}
			return kernelOf(t, e)
		}
		got, want := kernel(weighed, logits, labels), kernel(byColumn, logits, inputs.Slice("w", inputs.Feature, example), labels)
		if math.Abs(got-want) > 1e-6 || math.Abs(got-kernel(plain, logits, labels)) < 1e-6 {
			t.Errorf("%d classes: a step leads to %v, by weights of examples to %v", c.classes, got, want)
		}
		loss := func(h heads.Head) float64 {
			_, _, res, err := run(t, h, logits, labels)
			if err != nil {
				t.Fatal(err)
			}
			v, _ := res.Scalar("average_loss")
			return v
		}
		if a, b := loss(weighed), loss(plain); math.Abs(a-b) > 1e-6 {
			t.Errorf("%d classes: evaluation's average_loss %v, without weights %v", c.classes, a, b)
		}
	}
}

func TestScalesAndWeightsRefused(t *testing.T) {
	for _, c := range []struct {
		params estimator.Params
		want   string
	}{
		{estimator.Params{"label_dimension": 1, "label_std": 0}, "label_std 0: expected a finite number above 0"},
		{estimator.Params{"label_dimension": 1, "label_mean": math.NaN()}, "label_mean NaN"},
		{estimator.Params{"classes": 2, "label_mean": 1}, "label_scale: expected one of"},
		{estimator.Params{"label_dimension": 1, "class_weights": []any{1, 2}}, "class_weights: expected one of"},
		{estimator.Params{"classes": 2, "class_weights": []any{1}}, "has 1 weights, expected one for each of 2 classes"},
		{estimator.Params{"classes": 3, "class_weights": []any{1, -1, 1}}, "-1 of class 1"},
		{estimator.Params{"classes": 2, "class_weights": []any{0, 0}}, "all 0"},
	} {
		if _, _, err := heads.FromParams(c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, expected one with %q", c.params, err, c.want)
		}
	}
}

// kernelOf is a digest of the only variable of passThrough.
func kernelOf(t *testing.T, e *estimator.Estimator) (sum float64) {
	t.Helper()
	names, err := e.VariableNames()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "kernel") {
			continue
		}
		v, err := e.VariableValue(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range v.Len() {
			sum += v.Float(i) * float64(i+1)
		}
	}
	return sum
}
