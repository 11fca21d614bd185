package heads_test

import (
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
)

// TestNamedLosses: the parameter loss of a config file, of one example.
func TestNamedLosses(t *testing.T) {
	p := 1 / (1 + math.Exp(-1))
	soft := math.Exp(2) / (math.Exp(2) + math.E + 1)
	for _, c := range []struct {
		params estimator.Params
		logits []float32
		label  inputs.NamedTensor
		want   float64
	}{
		{estimator.Params{"classes": 2, "loss": "focal"}, []float32{1}, inputs.Slice("y", inputs.Label, []int64{1}), -math.Log(p) * (1 - p) * (1 - p)},
		{estimator.Params{"head": "binary", "loss": map[string]any{"name": "focal", "gamma": 1, "alpha": 0.25}}, []float32{1}, inputs.Slice("y", inputs.Label, []int64{0}),
			-math.Log(1-p) * p * 0.75},
		{estimator.Params{"classes": 2, "loss": "hinge"}, []float32{0.25}, inputs.Slice("y", inputs.Label, []int64{1}), 0.75},
		{estimator.Params{"classes": 3, "loss": "focal"}, []float32{2, 1, 0}, inputs.Slice("y", inputs.Label, []int64{0}), -math.Log(soft) * (1 - soft) * (1 - soft)},
		{estimator.Params{"head": "multi_label", "classes": 2, "loss": map[string]any{"name": "focal", "gamma": 0}}, []float32{1, 1}, inputs.Slice("y", inputs.Label, []int64{1, 0}, 2),
			-(math.Log(p) + math.Log(1-p)) / 2},
		{estimator.Params{"head": "multi_label", "classes": 2, "loss": map[string]any{"name": "dice", "smooth": 0.5}}, []float32{1, 1}, inputs.Slice("y", inputs.Label, []int64{1, 0}, 2),
			1 - (2*p+0.5)/(1+2*p+0.5)},
		{estimator.Params{"label_dimension": 1, "loss": "huber"}, []float32{3}, inputs.Slice("y", inputs.Label, []float32{1}), 1.5},
		{estimator.Params{"label_dimension": 1, "loss": map[string]any{"name": "huber", "delta": 4}}, []float32{3}, inputs.Slice("y", inputs.Label, []float32{1}), 2},
		{estimator.Params{"label_dimension": 1, "loss": "mean_absolute_error"}, []float32{3}, inputs.Slice("y", inputs.Label, []float32{1}), 2},
		{estimator.Params{"label_dimension": 1, "loss": map[string]any{"name": "quantile", "quantile": 0.9}}, []float32{3}, inputs.Slice("y", inputs.Label, []float32{1}), 0.2},
		{estimator.Params{"label_dimension": 2, "loss": "cosine_similarity"}, []float32{3, 4}, inputs.Slice("y", inputs.Label, []float32{0, 2}, 2), -0.8},
	} {
		h, rest, err := heads.FromParams(c.params)
		if err != nil || len(rest) > 0 {
			t.Errorf("%v: %v, %v left", c.params, err, rest)
			continue
		}
		_, _, res, err := run(t, h, inputs.Slice("logits", inputs.Feature, c.logits, len(c.logits)), c.label)
		if err != nil {
			t.Errorf("%v: %v", c.params, err)
			continue
		}
		if got, _ := res.Scalar("average_loss"); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v: loss %v, expected %v", c.params, got, c.want)
		}
	}
}

func TestNamedLossesRefused(t *testing.T) {
	for _, c := range []struct {
		params estimator.Params
		want   string
	}{
		{estimator.Params{"classes": 3, "loss": "hinge"}, `unknown loss "hinge" of a multi_class head: known are focal`},
		{estimator.Params{"head": "poisson", "loss": "huber"}, `unknown loss "huber" of a poisson head: it has only its own`},
		{estimator.Params{"classes": 2, "loss": map[string]any{"gamma": 1}}, `unknown loss ""`},
		{estimator.Params{"classes": 2, "loss": 3}, "name: expected a string, got 3"},
		{estimator.Params{"classes": 2, "loss": map[string]any{"name": "focal", "gamma": -1}}, "gamma"},
		{estimator.Params{"classes": 2, "loss": map[string]any{"name": "focal", "beta": 1}}, "unknown parameter beta"},
		{estimator.Params{"head": "multi_label", "classes": 2, "loss": map[string]any{"name": "dice", "smooth": 0}}, "smooth"},
		{estimator.Params{"label_dimension": 1, "loss": map[string]any{"name": "huber", "delta": math.NaN()}}, "delta"},
		{estimator.Params{"label_dimension": 1, "loss": map[string]any{"name": "quantile", "quantile": 1}}, "between 0 and 1"},
	} {
		if _, _, err := heads.FromParams(c.params); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, expected %q", c.params, err, c.want)
		}
	}
}
