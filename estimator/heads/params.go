package heads

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models/losses"
)

// The parameters that FromParams reads.
const (
	paramHead       = "head"
	paramClasses    = "classes"
	paramDimension  = "label_dimension"
	paramVocabulary = "label_vocabulary"
	paramNames      = "class_names"
	paramWeight     = "weight_column"
	paramReduction  = "loss_reduction"
	paramThresholds = "thresholds"
)

var allParams = []string{paramHead, paramClasses, paramDimension, paramVocabulary, paramNames, paramWeight, paramReduction, paramThresholds}

// FromParams makes the head that a model's parameters ask for, and returns the
// parameters that it leaves to the network. The parameter head names the kind:
// binary, multi_class, multi_label, regression, poisson or logistic; without it,
// classes (ForClasses) or label_dimension (regression) tell. The others are the
// options label_vocabulary, class_names, weight_column, loss_reduction and thresholds.
func FromParams(params estimator.Params) (Head, map[string]any, error) {
	rest := maps.Clone(map[string]any(params))
	for _, name := range allParams {
		delete(rest, name)
	}
	r := paramReader{params: params}
	opts := r.options()
	kind, classes, dimension := r.kind(), r.whole(paramClasses, 2), r.whole(paramDimension, 1)
	if r.err != nil {
		return nil, rest, r.err
	}
	h, err := newHead(kind, classes, dimension, opts)
	return h, rest, err
}

func newHead(kind string, classes, dimension int, opts []Option) (h Head, err error) {
	switch kind {
	case "classes":
		h = ForClasses(classes, opts...)
	case "binary":
		if classes != 2 {
			return nil, fmt.Errorf("%s: expected 2 for the binary head, got %d", paramClasses, classes)
		}
		h = BinaryClass(opts...)
	case "multi_class":
		h = MultiClass(classes, opts...)
	case "multi_label":
		h = MultiLabel(classes, opts...)
	case "regression":
		h = Regression(dimension, opts...)
	case "poisson":
		h = Poisson(dimension, opts...)
	case "logistic":
		h = Logistic(opts...)
	default:
		return nil, fmt.Errorf("%s: unknown head %q: expected binary, multi_class, multi_label, regression, poisson or logistic", paramHead, kind)
	}
	if err := Check(h); err != nil {
		return nil, err
	}
	return h, nil
}

// paramReader reads parameters; its first error sticks.
type paramReader struct {
	params estimator.Params
	err    error
}

func (r *paramReader) fail(name, expected string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: expected %s, got %v", name, expected, r.params[name])
	}
}

func (r *paramReader) has(name string) bool { _, ok := r.params[name]; return ok }

// kind is the kind of head that is named or meant.
func (r *paramReader) kind() string {
	switch {
	case r.has(paramHead):
		return r.text(paramHead)
	case r.has(paramClasses) && r.has(paramDimension):
		r.err = fmt.Errorf("both %s and %s: give one, or name the head", paramClasses, paramDimension)
	case r.has(paramClasses):
		return "classes"
	case r.has(paramDimension):
		return "regression"
	case r.err == nil:
		r.err = fmt.Errorf("expected %s (classification) or %s (regression)", paramClasses, paramDimension)
	}
	return ""
}

func (r *paramReader) whole(name string, def int) int {
	n, ok := r.params.Int(name, def)
	if !ok {
		r.fail(name, "a whole number")
	}
	return n
}

func (r *paramReader) text(name string) string {
	s, ok := r.params[name].(string)
	if !ok {
		r.fail(name, "text")
	}
	return s
}

// options are those options that have a parameter.
func (r *paramReader) options() []Option {
	var opts []Option
	if r.has(paramWeight) {
		opts = append(opts, WithWeightColumn(r.text(paramWeight)))
	}
	if r.has(paramReduction) {
		reduction, err := losses.ParseReduction(r.text(paramReduction))
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("%s: %w", paramReduction, err)
		}
		opts = append(opts, WithLossReduction(reduction))
	}
	if r.has(paramVocabulary) {
		opts = append(opts, WithLabelVocabulary(r.words(paramVocabulary)...))
	}
	if r.has(paramNames) {
		opts = append(opts, WithClassNames(r.words(paramNames)...))
	}
	if r.has(paramThresholds) {
		opts = append(opts, WithThresholds(r.numbers()...))
	}
	return opts
}

// words are a list, of text or of what YAML took for something else.
func (r *paramReader) words(name string) []string {
	switch v := r.params[name].(type) {
	case []string:
		return slices.Clone(v)
	case []any:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = fmt.Sprint(w)
		}
		return words
	case string: // of --set
		return strings.Split(v, ",")
	}
	r.fail(name, "a list of words")
	return nil
}

func (r *paramReader) numbers() []float64 {
	switch v := r.params[paramThresholds].(type) {
	case []float64:
		return slices.Clone(v)
	case []any:
		out := make([]float64, len(v))
		for i := range v {
			var ok bool
			if out[i], ok = (estimator.Params{"x": v[i]}).Float("x", 0); !ok {
				r.fail(paramThresholds, "a list of numbers")
			}
		}
		return out
	}
	r.fail(paramThresholds, "a list of numbers")
	return nil
}
