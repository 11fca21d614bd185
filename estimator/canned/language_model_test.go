package canned_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/models/networks"
)

// lines is an input of texts, endless in training.
func lines(texts ...string) estimator.InputFn {
	return estimator.InputFunc(func(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Strings("line", inputs.Feature, texts))
		if err != nil || ic.Mode != inputs.Train {
			return inputs.Pipe(ds, inputs.Batch(2, false)), err
		}
		return inputs.Pipe(ds, inputs.Repeat(0), inputs.Batch(4, false)), nil
	})
}

// TestLanguageModel: the model memorizes texts, generates them, and says how likely other texts are.
func TestLanguageModel(t *testing.T) {
	params := estimator.Params{"column": "line", "context": 8, "layers": 2, "heads": 2, "width": 32, "dropout": 0, "positions": "rotary",
		"characters": "?\nabcdefxyz", "optimizer": map[string]any{"name": "adam", "learning_rate": 0.01}}
	fn := ok(canned.Named("language_model", params, nil)).(*canned.TextModel)
	e := ok(estimator.New(fn, scratch(t)...))
	defer e.Close()
	texts := []string{"abcd", "xyz", "feedbac!", ""}
	ok(e.Train(t.Context(), lines(texts...), estimator.Steps(300)))
	w := ok(e.TextWriter(fn.Generator()))
	defer w.Close()
	for prompt, want := range map[string]string{"\na": "bcd\n", "\nx": "yz\n", "\nfe": "edbac"} {
		if got := ok(w.Text(t.Context(), prompt, estimator.Sampling{MaxNewTokens: len(want)})); got != want {
			t.Errorf("%q is continued by %q, expected %q", prompt, got, want)
		}
	}
	losses := func(texts ...string) (all []float64) {
		for p, err := range e.Predict(t.Context(), lines(texts...)) {
			if err != nil {
				t.Fatal(err)
			}
			loss := p.Get("loss").Float(0)
			if math.Abs(p.Get("perplexity").Float(0)-math.Exp(loss)) > 1e-3*math.Exp(loss) {
				t.Errorf("perplexity %v of loss %v", p.Get("perplexity"), loss)
			}
			all = append(all, loss)
		}
		return all
	}
	// The ninth byte of the third text is the first one beyond the context; unknown bytes count as the same.
	other := losses("abcd", "dcba", "feedbac!", "feedbac?", "feedbac?x")
	if !(other[0] < 0.7) || !(other[1] > 3) || other[2] != other[3] || other[3] != other[4] {
		t.Errorf("losses %v: expected a small one, a large one and three equal ones", other)
	}
	r := ok(e.Evaluate(t.Context(), lines(texts...)))
	sum, bytes := 0.0, 0.0
	for i, loss := range losses(texts...) {
		n := float64(min(len(texts[i])+1, 8))
		sum, bytes = sum+n*loss, bytes+n
	}
	average, _ := r.Scalar("average_loss")
	if perplexity, _ := r.Scalar("perplexity"); math.Abs(average-sum/bytes) > 1e-5 || math.Abs(perplexity-math.Exp(average)) > 1e-5 {
		t.Errorf("average loss %v and perplexity %v, expected %v and its exponential", average, perplexity, sum/bytes)
	}
}

func TestLanguageModelRefuses(t *testing.T) {
	for want, o := range map[string]canned.LanguageModel{
		"'a' is there twice":              {Characters: "?\naba"},
		"expected a byte that stands for": {Characters: "\nabc"},
		"context: expected 2 or more":     {Net: networks.GPT{Context: 1}},
	} {
		if _, err := o.ModelFn(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	for want, params := range map[string]estimator.Params{
		"kv_heads: 3 is no divisor of the 4 heads": {"kv_heads": 3},
		"unknown parameter depth: known are":       {"depth": 3},
	} {
		if _, err := canned.Named("language_model", params, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %q", err, want)
		}
	}
	e := ok(canned.LanguageModel{}.New(scratch(t)...))
	defer e.Close()
	if _, err := e.Train(t.Context(), bits(8, 3).inputFn(4), estimator.Steps(1)); err == nil {
		t.Error("trained on ragged numbers")
	}
	if _, err := e.Train(t.Context(), estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Slice("n", inputs.Feature, []float32{1, 2}))
		return inputs.Pipe(ds, inputs.Batch(2, false)), err
	}), estimator.Steps(1)); err == nil || !strings.Contains(err.Error(), "expected one text in each row") {
		t.Errorf("got %v", err)
	}
	if _, err := e.Train(t.Context(), estimator.InputFunc(func(context.Context, inputs.Context) (inputs.Dataset, error) {
		ds, err := inputs.Slices(nil, inputs.Strings("line", inputs.Feature, []string{"a"}), inputs.Slice("w", inputs.Weight, []float32{2}))
		return inputs.Pipe(ds, inputs.Batch(1, false)), err
	}), estimator.Steps(1)); err == nil || !strings.Contains(err.Error(), "texts have no weights") {
		t.Errorf("got %v", err)
	}
}
