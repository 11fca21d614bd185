package heads_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
)

// TestNamedMetrics: the parameter metrics of a config file, of some examples.
func TestNamedMetrics(t *testing.T) {
	list := func(items ...any) []any { return items }
	ids := inputs.Slice("y", inputs.Label, []int64{0, 1, 2, 2})
	scores := inputs.Slice("logits", inputs.Feature, []float32{
		3, 1, 0,
		2, 1, 0,
		0, 1, 2,
		5, 0, 1,
	}, 3)
	for _, c := range []struct {
		params        estimator.Params
		logits, label inputs.NamedTensor
		want          map[string][]float64
	}{
		{estimator.Params{"classes": 3, "metrics": list("f1_macro", map[string]any{"name": "top_k", "k": 2, "as": "top_2"}, "confusion_matrix", "f1_per_class")}, scores, ids,
			map[string][]float64{"f1_macro": {(0.5 + 0 + 2./3) / 3}, "top_2": {1}, "confusion_matrix": {1, 0, 0, 1, 0, 0, 1, 0, 1}, "f1_per_class": {0.5, 0, 2. / 3}}},
		{estimator.Params{"classes": 3, "metrics": "iou_per_class,perplexity", "weight_column": "w"}, scores, ids,
			map[string][]float64{"iou_per_class": {1. / 2, 0, 0}, "perplexity": {math.Exp((math.Log(math.Exp(3)+math.E+1) - 3 + math.Log(math.Exp(2)+math.E+1) - 1) / 2)}}},
		{estimator.Params{"classes": 2, "metrics": list("f1", "f1_macro", map[string]any{"name": "precision", "thresholds": []any{0.1}, "as": "precision_low"})},
			inputs.Slice("logits", inputs.Feature, []float32{1, -1, 2, -3}, 1), inputs.Slice("y", inputs.Label, []int64{1, 1, 0, 0}),
			map[string][]float64{"f1": {0.5}, "f1_macro": {0.5}, "precision_low": {2. / 3}}},
		{estimator.Params{"head": "multi_label", "classes": 2, "metrics": list("f1_macro", map[string]any{"name": "f1_micro", "thresholds": 0.1})},
			inputs.Slice("logits", inputs.Feature, []float32{1, -1, 2, -3}, 2), inputs.Slice("y", inputs.Label, []int64{1, 1, 0, 0}, 2),
			map[string][]float64{"f1_macro": {(2. / 3) / 2}, "f1_micro": {4. / 5}}},
		{estimator.Params{"label_dimension": 2, "metrics": list("r2", "mape", "cosine_similarity")},
			inputs.Slice("logits", inputs.Feature, []float32{3, 4, 1, 0}, 2), inputs.Slice("y", inputs.Label, []float32{3, 4, 1, 2}, 2),
			map[string][]float64{"r2": {(1 + (1 - 4./2)) / 2}, "mape": {25}, "cosine_similarity": {(1 + 1/math.Sqrt(5)) / 2}}},
	} {
		h, rest, err := heads.FromParams(c.params)
		if err != nil || len(rest) > 0 {
			t.Errorf("%v: %v, %v left", c.params, err, rest)
			continue
		}
		columns := []inputs.NamedTensor{c.logits}
		if c.params["weight_column"] != nil {
			columns = append(columns, inputs.Slice("w", inputs.Feature, []float32{1, 1, 0, 0}))
		}
		_, _, res, err := run(t, h, append(columns, c.label)...)
		if err != nil {
			t.Errorf("%v: %v", c.params, err)
			continue
		}
		for name, want := range c.want {
			got := res.Metrics[name].Data
			for i, w := range want {
				if len(got) != len(want) || math.Abs(got[i]-w) > 1e-6 {
					t.Errorf("%v: %s is %v, expected %v", c.params, name, got, want)
					break
				}
			}
		}
	}
}

func TestNamedMetricsRefused(t *testing.T) {
	for _, c := range []struct {
		params estimator.Params
		want   string
	}{
		{estimator.Params{"classes": 3, "metrics": "r2"}, `unknown metric "r2" of this head: known are accuracy, `},
		{estimator.Params{"classes": 3, "metrics": "f0"}, `unknown metric "f0": known are accuracy`},
		{estimator.Params{"classes": 3, "metrics": []any{map[string]any{"k": 3}}}, `unknown metric ""`},
		{estimator.Params{"classes": 3, "metrics": []any{map[string]any{"name": "top_k"}}}, "expected k, got none"},
		{estimator.Params{"classes": 3, "metrics": []any{map[string]any{"name": "top_k", "k": 0}}}, "k: expected an integer >= 1"},
		{estimator.Params{"classes": 3, "metrics": []any{map[string]any{"name": "f1_macro", "of": 1}}}, "unknown parameter of"},
		{estimator.Params{"classes": 3, "metrics": []any{"f1_macro", "f1_macro"}}, `two have the name "f1_macro"`},
		{estimator.Params{"classes": 2, "metrics": []any{map[string]any{"name": "iou", "class_ids": []any{2}}}}, "target classes in [0, 2)"},
		{estimator.Params{"label_dimension": 1, "metrics": "f1"}, `unknown metric "f1" of this head: known are cosine_similarity`},
		{estimator.Params{"label_dimension": 1, "metrics": 3}, "expected a list of names"},
		{estimator.Params{"label_dimension": 1, "metrics": []any{3}}, "expected a name, or a map with a name"},
	} {
		if _, _, err := heads.FromParams(c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, expected %q", c.params, err, c.want)
		}
	}
	h, _, err := heads.FromParams(estimator.Params{"classes": 3, "metrics": "accuracy"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = run(t, h, inputs.Slice("logits", inputs.Feature, []float32{1, 2, 3}, 3), inputs.Slice("y", inputs.Label, []int64{0}))
	if err == nil || !strings.Contains(err.Error(), `a metric "accuracy" already`) {
		t.Errorf("the head's own name: %v", err)
	}
}
