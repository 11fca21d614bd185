package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// lengths encodes words as their number of bytes and whether they are empty.
var lengths = estimator.Encoder{DType: tensor.Float32, Shape: []int{2}, Encode: func(dst *tensor.Tensor, c inputs.NamedTensor) error {
	out := tensor.Values[float32](dst)
	for i, w := range c.Tensor.Strings {
		if string(w) == "bad" {
			return fmt.Errorf("row %d: %w", i, errBadWord)
		}
		out[2*i] += float32(len(w)) // dst is zero
		if len(w) == 0 {
			out[2*i+1] = 1
		}
	}
	return nil
}}

var errBadWord = errors.New("a bad word")

// predictor predicts a function of the features.
func predictor(t *testing.T, spec func(mc *estimator.ModelContext, f models.Features) *estimator.Spec) *estimator.Estimator {
	t.Helper()
	e, err := estimator.New(estimator.ModelFunc(func(mc *estimator.ModelContext, f models.Features, _ models.Labels) (*estimator.Spec, error) {
		return spec(mc, f), nil
	}), estimator.WithModelDir(t.TempDir()), estimator.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// columnsOf is an input of columns in memory, in batches of 2.
func columnsOf(columns ...inputs.NamedTensor) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(ic.Allocator, columns...)
		if err != nil {
			return nil, err
		}
		return inputs.Pipe(ds, inputs.Batch(2, false)), nil
	})
}

func predictAll(e *estimator.Estimator, in estimator.InputFn, opts ...estimator.PredictOption) (out []estimator.Prediction, err error) {
	for p, err := range e.Predict(context.Background(), in, opts...) {
		if err != nil {
			return out, err
		}
		out = append(out, p)
	}
	return out, nil
}

func TestEncode(t *testing.T) {
	e := predictor(t, func(mc *estimator.ModelContext, f models.Features) *estimator.Spec {
		if mc.IsColumn(nil) || !mc.IsColumn(f.Dense("word")) {
			t.Error("IsColumn: expected the feature and nothing else to be a column")
		}
		return &estimator.Spec{Predictions: estimator.Nodes{"x": mc.Encode(f.Dense("word"), lengths)}}
	})
	got, err := predictAll(e, columnsOf(inputs.Strings("word", inputs.Feature, []string{"one", "", "three", "four", "é"})))
	if err != nil {
		t.Fatal(err)
	}
	var all []float32
	for _, p := range got {
		all = append(all, tensor.Values[float32](p.Get("x"))...)
	}
	if fmt.Sprint(all) != "[3 0 0 1 5 0 4 0 2 0]" {
		t.Errorf("encoded %v, expected lengths and emptiness", all)
	}
	_, err = predictAll(e, columnsOf(inputs.Strings("word", inputs.Feature, []string{"one", "two", "three", "bad"})))
	if !errors.Is(err, errBadWord) || !strings.Contains(err.Error(), `column "word": row 1`) {
		t.Errorf("got %v, expected the bad word of row 1 of column word", err)
	}
}

func TestEncodeErrors(t *testing.T) {
	word := columnsOf(inputs.Strings("word", inputs.Feature, []string{"one"}))
	cases := []struct {
		want string
		fn   func(mc *estimator.ModelContext, word *G.Node) *G.Node
	}{
		{"it is no column of the input", func(mc *estimator.ModelContext, _ *G.Node) *G.Node { return mc.Encode(nil, lengths) }},
		{"it is no column of the input", func(mc *estimator.ModelContext, _ *G.Node) *G.Node {
			return mc.Encode(ops.Scalar(mc, tensor.Float32, 1), lengths)
		}},
		{`encode column "word": expected an encoder to numbers, got one to string`, func(mc *estimator.ModelContext, n *G.Node) *G.Node {
			return mc.Encode(n, estimator.Encoder{DType: tensor.String, Encode: lengths.Encode})
		}},
		{"expected an encoder to numbers", func(mc *estimator.ModelContext, n *G.Node) *G.Node {
			return mc.Encode(n, estimator.Encoder{DType: tensor.Int64})
		}},
		{`column "word" is text, and the model uses it`, func(_ *estimator.ModelContext, n *G.Node) *G.Node { return n }},
	}
	for _, c := range cases {
		e := predictor(t, func(mc *estimator.ModelContext, f models.Features) *estimator.Spec {
			return &estimator.Spec{Predictions: estimator.Nodes{"x": c.fn(mc, f.Dense("word"))}}
		})
		if _, err := predictAll(e, word); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, expected %q", err, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	ids := inputs.Slice("ids", inputs.Feature, []int32{0, 1, 2, -1})
	e := predictor(t, func(_ *estimator.ModelContext, f models.Features) *estimator.Spec {
		n := f.Dense("ids")
		return &estimator.Spec{Predictions: estimator.Nodes{"ids": n},
			Texts: estimator.Texts{"word": {IDs: n, Vocabulary: []string{"zero", "one"}}, "decimal": {IDs: n}}}
	})
	got, err := predictAll(e, columnsOf(ids))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range got {
		all = append(all, string(p.Get("word").Strings[0])+" "+string(p.Get("decimal").Strings[0]))
	}
	if want := "[zero 0 one 1 UNK 2 UNK -1]"; fmt.Sprint(all) != want {
		t.Errorf("texts %v, expected %s", all, want)
	}
	chosen, err := predictAll(e, columnsOf(ids), estimator.PredictKeys("word"))
	if err != nil || len(chosen) != 4 || len(chosen[0].Names()) != 1 || string(chosen[1].Get("word").Strings[0]) != "one" {
		t.Errorf("got %v, %v: expected the words alone", chosen, err)
	}
}

func TestTextErrors(t *testing.T) {
	ids := columnsOf(inputs.Slice("ids", inputs.Feature, []float32{0, 1}))
	cases := []struct {
		want string
		spec func(n *G.Node) *estimator.Spec
	}{
		{`text "x": expected ids, and no prediction of that name`, func(n *G.Node) *estimator.Spec {
			return &estimator.Spec{Predictions: estimator.Nodes{"x": n}, Texts: estimator.Texts{"x": {IDs: n}}}
		}},
		{`text "y": expected ids`, func(n *G.Node) *estimator.Spec {
			return &estimator.Spec{Predictions: estimator.Nodes{"x": n}, Texts: estimator.Texts{"y": {}}}
		}},
		{"prediction y: ids of words have type float32: expected int32 or int64", func(n *G.Node) *estimator.Spec {
			return &estimator.Spec{Texts: estimator.Texts{"y": {IDs: n}}}
		}},
	}
	for _, c := range cases {
		e := predictor(t, func(_ *estimator.ModelContext, f models.Features) *estimator.Spec { return c.spec(f.Dense("ids")) })
		if _, err := predictAll(e, ids); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, expected %q", err, c.want)
		}
	}
}
