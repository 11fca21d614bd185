package heads_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/layers"
	"github.com/goestimator/goestimator/models/networks"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// halves is a network that makes half of each number.
func halves(c models.Context, f models.Features, _ int) *G.Node {
	return ops.Mul(c, networks.Vector(c, f), ops.Scalar(c, tensor.Float32, 0.5))
}

// TestReconstruction: the features are the labels, whatever labels there are.
func TestReconstruction(t *testing.T) {
	columns := []inputs.NamedTensor{inputs.Slice("a", inputs.Feature, []float32{2, -4, 0, 1}, 2), inputs.Slice("b", inputs.Feature, []uint8{255, 0})}
	labelled := append(columns[:2:2], inputs.Slice("label", inputs.Label, []int64{7, 9}))
	for _, input := range [][]inputs.NamedTensor{columns, labelled} {
		e, in := open(t, heads.ModelFn(halves, heads.Reconstruction(0, heads.WithMetrics(heads.NamedMetric{Kind: "mse"})), sgd(0.1)).Model), batchesOf(100, input...)
		res, err := e.Evaluate(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		// Halves of 2 -4 1 and 0 1 0 are missing.
		mean := (1 + 4 + 0.25 + 0.25) / 6.0
		check(t, res, map[string]float64{"average_loss": mean, "loss": mean, "rmse": math.Sqrt(mean), "mae": (1 + 2 + 0.5 + 0.5) / 6.0, "mse": mean})
		row, errors := 0, []float64{(1 + 4 + 0.25) / 3, 0.25 / 3}
		for p, err := range e.Predict(context.Background(), in) {
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Get("error").Float(0); math.Abs(got-errors[row]) > 1e-6 || p.Get("reconstruction").Len() != 3 || p.Get("logits") != nil {
				t.Errorf("row %d: %v: expected an error of %g", row, p, errors[row])
			}
			row++
		}
	}
}

// TestNetworkPredicts: predictions that a network adds are yielded and exported.
func TestNetworkPredicts(t *testing.T) {
	for name, want := range map[string]string{"sum": "", "error": `the network's prediction "error": the head has one of that name`} {
		net := func(c models.Context, f models.Features, n int) *G.Node {
			x := networks.Vector(c, f)
			c.Core().AddPrediction(name, ops.Sum(c, x, ops.Axes(1)))
			return layers.Dense(c, x, n+2, layers.Weights{})
		}
		e, in := open(t, heads.ModelFn(net, heads.Reconstruction(0), sgd(0.1)).Model), batchesOf(9, inputs.Slice("x", inputs.Feature, []float32{0.5, 1}, 2))
		if _, err := e.Train(t.Context(), in, estimator.Steps(1)); err != nil || want != "" {
			if err == nil || want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, expected %q", name, err, want)
			}
			continue
		}
		for p, err := range e.Predict(t.Context(), in) {
			if err != nil || p.Get("sum").Float(0) != 1.5 {
				t.Errorf("got %v, %v, expected a sum of 1.5", p, err)
			}
		}
		dir, err := e.ExportSavedModel(t.Context(), t.TempDir(), estimator.RawServingInput(inputs.Column{Name: "x", Role: inputs.Feature, DType: tensor.Float32, Shape: []int{2}}))
		if err != nil {
			t.Fatal(err)
		}
		m, err := savedmodel.Read(dir, savedmodel.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.MetaGraph(savedmodel.TagServe)
		if err != nil {
			t.Fatal(err)
		}
		if out := g.Signatures["predict"].GetOutputs(); out["sum"] == nil || out["reconstruction"] == nil {
			t.Errorf("the export's predictions are %v", out)
		}
	}
}

// TestReconstructionParams: the head of a config file, and its losses of one example.
func TestReconstructionParams(t *testing.T) {
	p := 1 / (1 + math.Exp(-0.25))
	for _, c := range []struct {
		params estimator.Params
		want   map[string]float64
	}{
		{estimator.Params{}, map[string]float64{"loss": (0.0625 + 0.25) / 2, "mae": 0.375}},
		{estimator.Params{"label_dimension": 2, "loss": "mean_absolute_error"}, map[string]float64{"loss": 0.375}},
		{estimator.Params{"loss": map[string]any{"name": "huber", "delta": 0.25}}, map[string]float64{"loss": (0.03125 + 0.25*(0.5-0.125)) / 2}},
		{estimator.Params{"loss": "cross_entropy"}, map[string]float64{"loss": (-0.5*math.Log(p) - 0.5*math.Log(1-p) - math.Log(1/(1+math.Exp(-0.5)))) / 2, "mae": (p - 0.5 + 1 - 1/(1+math.Exp(-0.5))) / 2}},
	} {
		c.params["head"] = "reconstruction"
		h, rest, err := heads.FromParams(c.params)
		if err != nil || len(rest) > 0 {
			t.Errorf("%v: %v, %v left", c.params, err, rest)
			continue
		}
		res, err := open(t, heads.ModelFn(halves, h, sgd(0.1)).Model).Evaluate(context.Background(), batchesOf(9, inputs.Slice("x", inputs.Feature, []float32{0.5, 1}, 2)))
		if err != nil {
			t.Errorf("%v: %v", c.params, err)
			continue
		}
		for name, want := range c.want {
			if got, _ := res.Scalar(name); math.Abs(got-want) > 1e-6 {
				t.Errorf("%v: %s is %v, expected %v", c.params, name, got, want)
			}
		}
	}
	if _, _, err := heads.FromParams(estimator.Params{"head": "reconstruction", "loss": "hinge"}); err == nil || !strings.Contains(err.Error(), "known are cross_entropy, huber, mean_absolute_error") {
		t.Errorf("got %v", err)
	}
}

// TestReconstructionBesides: among several heads, a reconstruction needs no label.
func TestReconstructionBesides(t *testing.T) {
	net := func(c models.Context, f models.Features, n int) *G.Node {
		x := networks.Vector(c, f)
		return ops.Concat(c, 1, x, ops.Slice(c, x, []int{0, 0}, []int{-1, n - 2}))
	}
	columns := []inputs.NamedTensor{inputs.Slice("x", inputs.Feature, []float32{0.5, 1}, 2), inputs.Slice("b", inputs.Label, []float32{2.5})}
	b := heads.Regression(1, heads.WithName("b"))
	e, in := open(t, heads.ModelFn(net, heads.Multi(heads.Reconstruction(2, heads.WithName("a")), b), sgd(0.1)).Model), batchesOf(9, columns...)
	res, err := e.Evaluate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"loss/a": 0, "loss/b": 4, "loss": 4} {
		if got, has := res.Scalar(name); got != want || !has {
			t.Errorf("%s is %v, expected %v", name, got, want)
		}
	}
	e, in = open(t, heads.ModelFn(halves, heads.Multi(heads.Reconstruction(1, heads.WithName("a")), b), sgd(0.1)).Model), batchesOf(9, columns[:1]...)
	if _, err := e.Evaluate(t.Context(), in); err == nil || !strings.Contains(err.Error(), "you must provide a labels tensor") {
		t.Errorf("without the label of the other: %v", err)
	}
}

func TestReconstructionRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		net     networks.Network
		head    heads.Head
		columns []inputs.NamedTensor
	}{
		"the features have 2: leave label_dimension out": {halves, heads.Reconstruction(3), []inputs.NamedTensor{inputs.Slice("x", inputs.Feature, []float32{0.5, 1}, 2)}},
		"expected 0 or more":                             {halves, heads.Reconstruction(-1), []inputs.NamedTensor{inputs.Slice("x", inputs.Feature, []float32{0.5})}},
		"head a leaves open how many of the logits": {func(c models.Context, f models.Features, n int) *G.Node {
			return ops.Slice(c, networks.Vector(c, f), []int{0, 0}, []int{-1, n})
		},
			heads.Multi(heads.Reconstruction(0, heads.WithName("a")), heads.Regression(1, heads.WithName("b"))), []inputs.NamedTensor{inputs.Slice("x", inputs.Feature, []float32{0.5}), inputs.Slice("b", inputs.Label, []float32{0.5})}},
		"set label_dimension, the number of outputs": {networks.MLP(2), heads.Reconstruction(0), []inputs.NamedTensor{inputs.Slice("x", inputs.Feature, []float32{0.5})}},
	} {
		_, err := open(t, heads.ModelFn(c.net, c.head, sgd(0.1)).Model).Evaluate(context.Background(), batchesOf(9, c.columns...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
}
