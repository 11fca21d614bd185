package canned_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goestimator/goestimator/estimator/canned"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

// TestLinearWeights names the rows of every kind of column; row i of a column has the weight i+1.
func TestLinearWeights(t *testing.T) {
	m := ok(canned.LinearRegressor{Columns: []feature.Column{
		trade(),
		&feature.Vocabulary{Key: "size", Ints: []int64{40, 38}},
		&feature.Bucketized{Of: &feature.Numeric{Key: "age", Shape: []int{2}}, Boundaries: []float64{30, 50, 65.5}},
		&feature.Bucketized{Of: &feature.Numeric{Key: "height"}, Boundaries: []float64{170}},
		&feature.HashBucket{Key: "town", Size: 2},
		&feature.Identity{Key: "day", Size: 2},
		&feature.Weighted{Of: &feature.Vocabulary{Key: "word", Values: []string{"a"}}, WeightKey: "count"},
		&feature.Numeric{Key: "income"},
		&feature.Words{Key: "note", Values: []string{"not good"}, Size: 1, NGrams: 2},
		&feature.Words{Key: "title", Size: 1},
	}}.ModelFn())
	rows := map[string]int{"trade": 4, "size": 2, "age_bucketized": 8, "height_bucketized": 2, "town": 2, "day": 2, "word_weighted_by_count": 1, "income": 1, "bias_weights": 1, "note_words": 2, "title_words": 1}
	read := func(variable string) (*tensor.Tensor, error) {
		column := strings.TrimSuffix(strings.TrimPrefix(variable, "linear/linear_model/"), "/weights")
		x := tensor.New(tensor.Float32, rows[column], 1)
		for i := range tensor.Values[float32](x) {
			tensor.Values[float32](x)[i] = float32(i + 1)
		}
		return x, nil
	}
	got := map[string][]string{}
	for _, w := range ok(m.LinearWeights(read)) {
		got[w.Column] = append(got[w.Column], w.Value)
		if n := len(got[w.Column]); len(w.Weight) != 1 || w.Weight[0] != float64(n) {
			t.Errorf("%s, %q: weight %v, expected %d", w.Column, w.Value, w.Weight, n)
		}
	}
	want := map[string][]string{
		"bias":                   {""},
		"trade":                  {"baker", "nurse", "smith", "oov 0"},
		"size":                   {"40", "38"},
		"age_bucketized":         {"< 30", "[30, 50)", "[50, 65.5)", ">= 65.5", "< 30", "[30, 50)", "[50, 65.5)", ">= 65.5"},
		"height_bucketized":      {"< 170", ">= 170"},
		"town":                   {"bucket 0", "bucket 1"},
		"day":                    {"0", "1"},
		"word_weighted_by_count": {"a"},
		"income":                 {"0"},
		"note_words":             {"not good", "oov 0"},
		"title_words":            {"bucket 0"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
