package estimator_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
)

// echo predicts its feature, as itself and doubled.
func echo(mc *estimator.ModelContext, f models.Features) *estimator.Spec {
	x := f.Dense("x")
	return &estimator.Spec{Predictions: estimator.Nodes{"x": x, "double": ops.Add(mc, x, x)}}
}

// TestNamesOfPredictions: names are in order, including the names of texts.
func TestNamesOfPredictions(t *testing.T) {
	want := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	e := custom(t, estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
		spec := &estimator.Spec{Predictions: estimator.Nodes{}, Texts: estimator.Texts{}}
		for i, name := range want {
			if i%3 == 1 {
				spec.Texts[name] = estimator.Text{IDs: ops.Cast(mc, f.Dense("x"), tensor.Int64), Vocabulary: []string{name}}
				continue
			}
			spec.Predictions[name] = ops.Add(mc, f.Dense("x"), ops.Scalar(mc, tensor.Float32, float64(i)))
		}
		return spec, nil
	}), t.TempDir())
	for p, err := range e.Predict(context.Background(), countedUp(2, 2, false)) {
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for name, v := range p.All() {
			got = append(got, name)
			if v.DType != tensor.String && v.Float(0)-p.Get("a").Float(0) != float64(name[0]-'a') {
				t.Errorf("%s is %v where a is %v", name, v.Float(0), p.Get("a").Float(0))
			}
		}
		if !slices.Equal(got, want) || !slices.Equal(p.Names(), want) {
			t.Errorf("got %v and %v, expected %v", got, p.Names(), want)
		}
	}
}

// countedUp is a column of rows numbers in batches of that size, repeated if endless.
func countedUp(rows, batch int, endless bool) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		data := make([]float32, rows)
		for i := range data {
			data[i] = float32(i)
		}
		ds, err := inputs.Slices(ic.Allocator, inputs.Slice("x", inputs.Feature, data))
		if err != nil {
			return nil, err
		}
		if endless {
			return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(batch, true)), nil
		}
		return inputs.Pipe(ds, inputs.Batch(batch, false)), nil
	})
}

// A prediction that a caller keeps does not change, even after later runs.
func TestPredictionsMayBeKept(t *testing.T) {
	kept, err := predictAll(predictor(t, echo), countedUp(50, 7, false))
	if err != nil || len(kept) != 50 {
		t.Fatalf("%d predictions, expected 50 (%v)", len(kept), err)
	}
	for i, p := range kept {
		if x, d := p.Get("x").Float(0), p.Get("double").Float(0); x != float64(i) || d != float64(2*i) || p.Get("y") != nil {
			t.Errorf("row %d: x %g, double %g, y %v", i, x, d, p.Get("y"))
		}
	}
	if names := kept[0].Names(); !slices.Equal(names, []string{"double", "x"}) {
		t.Errorf("names %v, expected them in order", names)
	}
}

// A batch of any size costs the same number of allocations.
func TestPredictAllocatesPerBatch(t *testing.T) {
	perBatch := func(rows int) uint64 {
		const batches = 200
		n, first := 0, uint64(0)
		for _, err := range predictor(t, echo).Predict(context.Background(), countedUp(64, rows, true), estimator.Steps(2*batches)) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == batches*rows {
				first = mallocs()
			}
		}
		return (mallocs() - first) / batches
	}
	if one, many := perBatch(2), perBatch(32); many > one+5 || many > 25 {
		t.Errorf("%d allocations per batch of 32 rows, %d per batch of 2", many, one)
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func TestPredictionOf(t *testing.T) {
	p := estimator.PredictionOf(map[string]*tensor.Tensor{"b": tensor.Scalar(2.0), "a": tensor.Scalar(1.0)})
	got := ""
	for name, x := range p.All() {
		got += fmt.Sprintf("%s=%g ", name, x.Float(0))
	}
	for range p.All() {
		break
	}
	var none estimator.Prediction
	if got != "a=1 b=2 " || none.Get("a") != nil || len(none.Names()) != 0 {
		t.Errorf("got %s, and of no prediction %v %v", got, none.Names(), none.Get("a"))
	}
}
