package metrics_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/goestimator/goestimator/estimator/metrics"
	"github.com/goestimator/goestimator/tensor"
)

// loose is a number, or text that stands for one that JSON does not hold.
type loose float64

func (n *loose) UnmarshalJSON(b []byte) error {
	text, err := strconv.Unquote(string(b))
	if err != nil {
		text = string(b)
	}
	v, err := strconv.ParseFloat(text, 64)
	*n = loose(v)
	return err
}

// recordedTensor is numbers in a shape.
type recordedTensor struct {
	Shape  []int
	Values []loose
}

func (r recordedTensor) tensor() *tensor.Tensor {
	v := make([]float64, len(r.Values))
	for i, x := range r.Values {
		v[i] = float64(x)
	}
	return must(tensor.FromSlice(v, r.Shape...))
}

// recordedCase is a recorded result of a Keras metric: see testdata/record.py.
type recordedCase struct {
	Kind   string
	Params struct {
		Classes, K, Outputs *int
		Beta                *float64
		Thresholds          []float64
		Targets             []int `json:"class_ids"`
	}
	Batches []struct {
		Labels, Predictions recordedTensor
		Weights             []float64
	}
	Want []loose
}

func (c recordedCase) params() []metrics.Param {
	var out []metrics.Param
	if c.Params.Classes != nil {
		out = append(out, metrics.WithClasses(*c.Params.Classes))
	}
	if c.Params.K != nil {
		out = append(out, metrics.WithK(*c.Params.K))
	}
	if c.Params.Outputs != nil {
		out = append(out, metrics.WithOutputs(*c.Params.Outputs))
	}
	if c.Params.Beta != nil {
		out = append(out, metrics.WithBeta(*c.Params.Beta))
	}
	if c.Params.Thresholds != nil {
		out = append(out, metrics.WithThresholds(c.Params.Thresholds...))
	}
	if c.Params.Targets != nil {
		out = append(out, metrics.WithTargets(c.Params.Targets...))
	}
	return out
}

func readRecorded[T any](t *testing.T, path string) []T {
	t.Helper()
	var all []T
	if err := json.Unmarshal(must(os.ReadFile(path)), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

// TestKeras compares metrics with Keras', batch by batch as one replica and with a replica for each batch.
func TestKeras(t *testing.T) {
	for i, c := range readRecorded[recordedCase](t, "testdata/keras.json") {
		t.Run(fmt.Sprintf("%d %s", i, c.Kind), func(t *testing.T) {
			whole, merged := must(metrics.New(c.Kind, c.params()...)), must(metrics.New(c.Kind, c.params()...))
			for _, b := range c.Batches {
				args := []*tensor.Tensor{b.Labels.tensor(), b.Predictions.tensor()}
				if b.Weights != nil {
					args = append(args, dense(b.Weights...))
				}
				part := must(metrics.New(c.Kind, c.params()...))
				for _, acc := range []metrics.Accumulator{whole, part} {
					if err := acc.Update(args...); err != nil {
						t.Fatal(err)
					}
				}
				if err := merged.Merge(part); err != nil {
					t.Fatal(err)
				}
			}
			want := make([]float64, len(c.Want))
			for i, w := range c.Want {
				want[i] = float64(w)
			}
			nearFloat32(t, "one replica", want, whole.Result().Data)
			nearFloat32(t, "replicas", want, merged.Result().Data)
		})
	}
}

// nearFloat32 compares with a number that was computed in float32.
func nearFloat32(t *testing.T, what string, want, got []float64) {
	t.Helper()
	rounded := make([]float64, len(got))
	for i, g := range got {
		rounded[i] = g
		if i < len(want) && math.Abs(g-want[i]) <= 3e-6*max(1, math.Abs(want[i])) {
			rounded[i] = want[i]
		}
	}
	near(t, what, want, rounded)
}

// padded makes rows of one length, with padding and an end in them.
func padded(rows [][]int64, width int) []int64 {
	var out []int64
	for i, r := range rows {
		row := append([]int64{}, r...)
		if i%2 == 0 {
			row = append(row, 99, 7)
		}
		for len(row) < width {
			row = append(row, -1)
		}
		out = append(out, row...)
	}
	return out
}

// TestBLEU compares with sacrebleu, and with NLTK if both agree: see testdata/bleu.py.
func TestBLEU(t *testing.T) {
	type recorded struct {
		References      [][][]int64
		Translations    [][]int64
		Order           int
		Exp, None, NLTK float64
	}
	agreed := 0
	for i, c := range readRecorded[recorded](t, "testdata/bleu.json") {
		const width = 20
		most := 0
		for _, r := range c.References {
			most = max(most, len(r))
		}
		var from []int64
		for _, r := range c.References {
			from = append(from, padded(append(r, make([][]int64, most-len(r))...), width)...)
		}
		n := len(c.Translations)
		references := must(tensor.FromSlice(from, n, most, width))
		if most == 1 {
			references = must(tensor.FromSlice(from, n, width))
		}
		translations := must(tensor.FromSlice(padded(c.Translations, width), n, width))
		for smoothing, want := range map[metrics.Smoothing]float64{metrics.SmoothExp: c.Exp, metrics.SmoothNone: c.None} {
			m := must(metrics.New("bleu", metrics.WithOrder(c.Order), metrics.WithSmoothing(smoothing), metrics.WithEnd(99)))
			if err := m.Update(references, translations); err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprintf("case %d, smoothing %s", i, smoothing), []float64{want}, m.Result().Data)
			if smoothing == metrics.SmoothNone && math.Abs(c.NLTK-want) < 1e-9 {
				agreed++
			}
		}
	}
	if agreed < 10 {
		t.Errorf("NLTK agrees %d times", agreed)
	}
}

// TestPerClass has a class that is never predicted, one without examples, and others.
func TestPerClass(t *testing.T) {
	got, err := metrics.PerClass(metrics.Value{Shape: []int{3, 3}, Data: []float64{
		6, 2, 0,
		1, 1, 0,
		0, 0, 0,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []metrics.ClassReport{
		{Precision: 6. / 7, Recall: 0.75, F1: 0.8, Support: 8, Predicted: 7},
		{Precision: 1. / 3, Recall: 0.5, F1: 0.4, Support: 2, Predicted: 3},
		{},
	} {
		near(t, "class", []float64{want.Precision, want.Recall, want.F1, want.Support, want.Predicted},
			[]float64{got[i].Precision, got[i].Recall, got[i].F1, got[i].Support, got[i].Predicted})
	}
	if _, err := metrics.PerClass(metrics.Value{Shape: []int{2, 3}, Data: make([]float64, 6)}); err == nil {
		t.Error("accepted [2, 3]")
	}
}

// TestParametersOfClasses refuses numbers out of range.
func TestParametersOfClasses(t *testing.T) {
	for name, params := range map[string][]metrics.Param{
		"f1_macro":       {metrics.WithClasses(0)},
		"f1_micro":       {metrics.WithClasses(3), metrics.WithThresholds(0.5, 0.6)},
		"f1_weighted":    {metrics.WithClasses(3), metrics.WithThresholds(1.5)},
		"f1_per_class":   {metrics.WithClasses(1 << 40)},
		"iou":            {metrics.WithClasses(3), metrics.WithTargets(3)},
		"fbeta":          {metrics.WithBeta(0)},
		"fbeta_macro":    {metrics.WithClasses(3), metrics.WithBeta(-1)},
		"fbeta_micro":    {metrics.WithClasses(3), metrics.WithBeta(math.NaN())},
		"fbeta_weighted": {metrics.WithBeta(2)},
		"iou_per_class":  nil,
		"binary_iou":     {metrics.WithTargets(-1)},
		"r2":             {metrics.WithOutputs(-1)},
		"bleu":           {metrics.WithOrder(17)},
	} {
		if _, err := metrics.New(name, params...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := metrics.New("bleu", metrics.WithSmoothing("floor")); err == nil {
		t.Error("bleu: accepted floor")
	}
}

// TestShapesOfClasses refuses tensors of other widths.
func TestShapesOfClasses(t *testing.T) {
	wide := shaped([]int{2, 4}, 0, 1, 0, 1, 0, 1, 0, 1)
	for _, m := range []metrics.Accumulator{
		must(metrics.New("f1_macro", metrics.WithClasses(3), metrics.WithThresholds(0.5))),
		must(metrics.New("r2", metrics.WithOutputs(3))),
	} {
		if err := m.Update(wide, wide); err == nil {
			t.Errorf("%T accepted 4 columns", m)
		}
	}
	if err := must(metrics.New("bleu")).Update(shaped([]int{1, 1, 1, 1}, 1), dense(1)); err == nil {
		t.Error("bleu accepted references of rank 4")
	}
	// No references at all count as empty ones.
	m := must(metrics.New("bleu"))
	if err := m.Update(must(tensor.FromSlice([]int64{}, 1, 1<<40, 0)), dense(1)); err != nil {
		t.Fatal(err)
	}
	near(t, "bleu", []float64{0}, m.Result().Data)
}
