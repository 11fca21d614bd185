package canned_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/models/losses"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// A query of a topic matches each of its candidates: number modulo topics is the topic.
const (
	topics          = 4
	candidatesOfOne = 3
)

// visits has, for each topic, a query for each of its candidates, whose words are the labels.
func visits(_ context.Context, ic inputs.Context) (inputs.Dataset, error) {
	var topic, seen []string
	for i := range topics * candidatesOfOne {
		topic, seen = append(topic, fmt.Sprint("t", i%topics)), append(seen, fmt.Sprint("page", i))
	}
	ds, err := inputs.Slices(nil, inputs.Strings("topic", inputs.Feature, topic), inputs.Strings("page", inputs.Label, seen))
	if err != nil || ic.Mode != inputs.Train {
		return inputs.Pipe(ds, inputs.Batch(5, false)), err
	}
	return inputs.Pipe(ds, inputs.Shuffle(12, 3), inputs.Repeat(0), inputs.Batch(8, true)), nil
}

func twoTowers(t *testing.T, params estimator.Params) *estimator.Estimator {
	t.Helper()
	set := ok(feature.Build([]feature.Spec{{Name: "topic", Type: "vocabulary", Key: "topic", Vocabulary: []string{"t0", "t1", "t2", "t3"}}, {Name: "vector", Type: "embedding", Of: "topic", Dimension: 4}}))
	var words []any
	for i := range topics * candidatesOfOne {
		words = append(words, fmt.Sprint("page", i))
	}
	all := estimator.Params{"feature_columns": "vector", "n_classes": len(words), "label_vocabulary": words, "embedding": 8, "hidden_units": 8, "width": 6,
		"optimizer": map[string]any{"name": "adam", "learning_rate": 0.02}, "metrics": []any{map[string]any{"name": "top_k", "k": candidatesOfOne}}}
	for name, v := range params {
		all[name] = v
	}
	e := ok(estimator.New(ok(canned.Named("two_tower", all, set)), scratch(t)...))
	t.Cleanup(func() { e.Close() })
	return e
}

// TestTwoTower: the candidates of a query's own topic get the highest scores, all about equal.
func TestTwoTower(t *testing.T) {
	e, in := twoTowers(t, nil), estimator.InputFunc(visits)
	before, _ := ok(e.Evaluate(t.Context(), in)).Scalar("top_k")
	ok(e.Train(t.Context(), in, estimator.Steps(300)))
	result := ok(e.Evaluate(t.Context(), in))
	if after, _ := result.Scalar("top_k"); after != 1 || !(before < 0.8) {
		t.Errorf("top_k %g, before training %g: expected 1, from less", after, before)
	}
	row := 0
	for p, err := range e.Predict(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		square := 0.0
		for _, x := range tensor.Values[float32](p.Get("query")) {
			square += float64(x) * float64(x)
		}
		if p.Get("query").Len() != 6 || math.Abs(square-1) > 1e-5 {
			t.Errorf("the query is %v: expected a vector of 6 numbers and length 1", p.Get("query"))
		}
		shares := tensor.Values[float32](p.Get("probabilities"))
		for i, share := range shares {
			if own := i%topics == row%topics; own && share < 0.2 || !own && share > 0.05 {
				t.Errorf("topic %d: probabilities %v: expected a third for each of %d candidates", row%topics, shares, candidatesOfOne)
				break
			}
		}
		best := slices.Index(shares, slices.Max(shares))
		if got := string(p.Get("classes").Strings[0]); got != fmt.Sprint("page", best) {
			t.Errorf("got %q, expected page%d", got, best)
		}
		row++
	}
}

// TestTwoTowerTemperature: scores are products of vectors of length 1, divided by the temperature.
func TestTwoTowerTemperature(t *testing.T) {
	e, in := twoTowers(t, estimator.Params{"temperature": 0.25}), estimator.InputFunc(visits)
	ok(e.Train(t.Context(), in, estimator.Steps(100)))
	most := 0.0
	for p, err := range e.Predict(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range tensor.Values[float32](p.Get("logits")) {
			most = max(most, math.Abs(float64(z)))
		}
	}
	if most > 4.0001 || most < 2 {
		t.Errorf("the largest score is %g: expected at most 1/0.25, and nearly that", most)
	}
}

// TestTwoTowerClassWeights: classes of weight 0 do not contribute to the loss.
func TestTwoTowerClassWeights(t *testing.T) {
	for _, of := range []float64{1, 0} {
		weights := []any{1.0}
		for range topics*candidatesOfOne - 1 {
			weights = append(weights, of)
		}
		e := twoTowers(t, estimator.Params{"class_weights": weights})
		two := func(context.Context, inputs.Context) (inputs.Dataset, error) {
			ds, err := inputs.Slices(nil, inputs.Strings("topic", inputs.Feature, []string{"t1", "t2"}), inputs.Strings("page", inputs.Label, []string{"page1", "page2"}))
			return inputs.Pipe(ds, inputs.Batch(2, false)), err
		}
		if loss := ok(e.Train(t.Context(), estimator.InputFunc(two), estimator.Steps(1))).Loss; (loss > 0) != (of > 0) {
			t.Errorf("the loss of classes of weight %g is %g", of, loss)
		}
	}
}

// TestTwoTowerRefuses: options of the head that training would not follow.
func TestTwoTowerRefuses(t *testing.T) {
	own := func(*estimator.ModelContext, heads.LossInputs) *G.Node { return nil }
	for _, o := range []heads.Option{heads.WithLossFn(own), heads.WithLossReduction(losses.Sum)} {
		_, err := canned.TwoTower{Head: heads.MultiClass(3, o), Columns: []feature.Column{&feature.Numeric{Key: "age"}}}.ModelFn()
		if err == nil || !strings.Contains(err.Error(), "training has the in-batch softmax and its mean") {
			t.Errorf("got %v", err)
		}
	}
}
