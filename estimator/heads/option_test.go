package heads_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/estimator/heads"
	"github.com/goestimator/goestimator/models/losses"
)

func TestOptionErrors(t *testing.T) {
	binary := func(opts ...heads.Option) error { return heads.BinaryClass(opts...).Err() }
	multi := func(n int, opts ...heads.Option) error { return heads.MultiClass(n, opts...).Err() }
	label := func(n int, opts ...heads.Option) error { return heads.MultiLabel(n, opts...).Err() }
	regression := func(n int, opts ...heads.Option) error { return heads.Regression(n, opts...).Err() }
	poisson := func(n int, opts ...heads.Option) error { return heads.Poisson(n, opts...).Err() }
	logistic := func(opts ...heads.Option) error { return heads.Logistic(opts...).Err() }
	many := func(w []float64, hs ...heads.Head) error { return heads.Multi(hs...).Weighted(w...).Err() }
	named := func(name string, opts ...heads.Option) heads.Head {
		h := heads.BinaryClass(append(opts, heads.WithName(name))...)
		return h
	}
	cases := []struct {
		err  error
		want string
	}{
		{binary(heads.WithThresholds(0.5, 1)), "thresholds not in (0, 1): [0.5 1]"},
		{binary(heads.WithThresholds(math.NaN())), "thresholds not in (0, 1)"},
		{binary(heads.WithLabelVocabulary("a")), `"label_vocabulary" does not have "n_classes" items: len(label_vocabulary)=1, n_classes=2`},
		{binary(heads.WithLabelVocabulary()), "len(label_vocabulary)=0"},
		{binary(heads.WithLabelVocabulary("a", "a")), `label_vocabulary has "a" twice, as items 0 and 1`},
		{binary(heads.WithLossReduction(losses.None)), "invalid loss_reduction"},
		{binary(heads.WithLossReduction("most")), `invalid loss_reduction: "most"`},
		{binary(heads.WithFullLoss(true)), "compute_full_loss: expected one of name, weight_column, loss_reduction, thresholds"},
		{multi(2), "n_classes must be > 2: 2"},
		{multi(3, heads.WithLabelVocabulary("a", "b")), "len(label_vocabulary)=2, n_classes=3"},
		{multi(3, heads.WithClassNames("a", "b")), "len(class_names)=2, n_classes=3"},
		{multi(3, heads.WithClassNames("a", "b", "a")), `class_names has "a" twice, as items 0 and 2`},
		{binary(heads.WithClassNames("a", "b"), heads.WithLabelVocabulary("a", "b")), "both label_vocabulary and class_names"},
		{regression(1, heads.WithClassNames("a")), "class_names: expected one of"},
		{multi(3, heads.WithThresholds(0.5)), "thresholds: expected one of"},
		{label(1), "n_classes must be > 1 for multi-label classification. Given: 1"},
		{label(3, heads.WithClassMetrics(3)), "all classes_for_class_based_metrics must be in range [0, 2]. Given: 3"},
		{label(3, heads.WithClassMetricsByName("a")), "label_vocabulary must be provided when classes_for_class_based_metrics are strings"},
		{label(2, heads.WithLabelVocabulary("a", "b"), heads.WithClassMetricsByName("c")), `"c" is not in the label_vocabulary`},
		{regression(0), "invalid label_dimension 0"},
		{regression(1, heads.WithLabelVocabulary("a")), "label_vocabulary: expected one of"},
		{poisson(-1), "invalid label_dimension -1"},
		{poisson(1, heads.WithInverseLink(nil)), "inverse_link_fn"},
		{logistic(heads.WithLossFn(nil)), "loss_fn"},
		{many(nil), "must specify heads"},
		{many([]float64{1}, named("a"), named("b")), "heads and head_weights must have the same size. Given len(heads): 2. Given len(head_weights): 1"},
		{many(nil, named("a"), named("")), "all given heads must have name specified"},
		{many(nil, named("a"), nil), "all given heads must have name specified"},
		{many(nil, named("a"), named("a")), `two heads have the name "a"`},
		{many(nil, named("a"), named("b", heads.WithLossReduction(losses.Sum))), "the loss_reduction must be the same for different heads"},
	}
	for _, c := range cases {
		if !errors.Is(c.err, heads.ErrOption) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, expected ErrOption with %q", c.err, c.want)
		}
	}
}

func TestFromParams(t *testing.T) {
	cases := []struct {
		params    estimator.Params
		dimension int
		want      string // of the error
	}{
		{estimator.Params{"classes": 3}, 3, ""},
		{estimator.Params{"classes": 2}, 1, ""},
		{estimator.Params{"classes": 2, "label_vocabulary": []any{"<=50K", 50}, "weight_column": "w", "loss_reduction": "sum", "thresholds": []any{0.25, 1e-1}}, 1, ""},
		{estimator.Params{"head": "binary", "label_vocabulary": "no,yes"}, 1, ""},
		{estimator.Params{"head": "multi_class", "classes": 4}, 4, ""},
		{estimator.Params{"head": "multi_label", "classes": 4, "label_vocabulary": []string{"a", "b", "c", "d"}}, 4, ""},
		{estimator.Params{"classes": 3, "class_names": []any{3, "4", "many"}}, 3, ""},
		{estimator.Params{"classes": 3, "class_names": 4}, 0, "class_names: expected a list of words"},
		{estimator.Params{"label_dimension": 2}, 2, ""},
		{estimator.Params{"head": "poisson"}, 1, ""},
		{estimator.Params{"head": "logistic"}, 1, ""},
		{estimator.Params{}, 0, "expected classes (classification) or label_dimension (regression)"},
		{estimator.Params{"clases": 3}, 0, "expected classes (classification) or label_dimension (regression), got clases"},
		{estimator.Params{"n_classes": 3}, 0, "expected classes (classification) or label_dimension (regression), got n_classes"},
		{estimator.Params{"classes": 3, "label_dimension": 1}, 0, "both classes and label_dimension"},
		{estimator.Params{"classes": "many"}, 0, "classes: expected a whole number, got many"},
		{estimator.Params{"classes": 1}, 0, "n_classes must be > 2: 1"},
		{estimator.Params{"head": "binary", "classes": 3}, 0, "classes: expected 2"},
		{estimator.Params{"head": "trinary"}, 0, `unknown head "trinary"`},
		{estimator.Params{"head": 1}, 0, "head: expected text"},
		{estimator.Params{"classes": 2, "thresholds": []any{"high"}}, 0, "thresholds: expected a list of numbers"},
		{estimator.Params{"classes": 2, "thresholds": 0.5}, 0, "thresholds: expected a list of numbers"},
		{estimator.Params{"classes": 2, "label_vocabulary": 5}, 0, "label_vocabulary: expected a list of words"},
		{estimator.Params{"classes": 2, "loss_reduction": "most"}, 0, "loss_reduction: unknown reduction"},
		{estimator.Params{"label_dimension": 1, "thresholds": []any{0.5}}, 0, "thresholds: expected one of"},
	}
	for _, c := range cases {
		c.params["hidden_units"] = []int{5}
		h, rest, err := heads.FromParams(c.params)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: got %v, expected %q", c.params, err, c.want)
			}
		case err != nil:
			t.Errorf("%v: %v", c.params, err)
		case h.LogitsDimension() != c.dimension || len(rest) != 1 || rest["hidden_units"] == nil:
			t.Errorf("%v: %d logits and %v left, expected %d and hidden_units", c.params, h.LogitsDimension(), rest, c.dimension)
		}
	}
}
