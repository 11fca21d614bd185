package heads

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/internal/platform/params"
	"github.com/goestimator/goestimator/internal/platform/spelling"
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
	paramLoss       = "loss"
	paramMetrics    = "metrics"
	paramMean       = "label_mean"
	paramStd        = "label_std"
	paramWeights    = "class_weights"
)

// FromParams makes the head that a model's parameters ask for, and returns the
// parameters that it leaves to the network. The parameter head names the kind:
// binary, multi_class, multi_label, regression, poisson, logistic or reconstruction. Without it,
// classes (ForClasses) or label_dimension (regression) decide.
//
// The options label_vocabulary, class_names, weight_column, loss_reduction and thresholds have parameters of these names.
// Regressions also take label_mean and label_std (WithLabelScale), classifiers class_weights. metrics is a list of metrics in
// addition to the head's own (WithMetrics): names, or maps of the name, the name in results (as) and parameters, such as
// {name: top_k, k: 5}.
//
// loss replaces the head's own loss, by a name or as a map of the name and its parameters:
//
//	binary          focal (gamma 2, alpha 0: classes are not weighed), hinge
//	multi_class     focal
//	multi_label     focal, dice (smooth 1)
//	regression      huber (delta 1), quantile (quantile 0.5), mean_absolute_error, cosine_similarity
//	reconstruction  huber, mean_absolute_error, cross_entropy (of numbers in 0..1)
func FromParams(p estimator.Params) (Head, map[string]any, error) {
	r := paramReader{params.Read("", p)}
	opts := r.options()
	classes, dimension := r.whole(paramClasses, 2), r.whole(paramDimension, 1)
	kind := r.kind()
	if kind == "reconstruction" && !r.Has(paramDimension) {
		dimension = 0
	}
	opts = append(opts, r.lossFn(kindOf(kind, classes))...)
	if err := r.Err(); err != nil {
		return nil, r.Rest(), err
	}
	h, err := newHead(kind, classes, dimension, opts)
	return h, r.Rest(), err
}

// kindOf returns the kind of a head for that many classes.
func kindOf(kind string, classes int) string {
	switch {
	case kind != "classes":
		return kind
	case classes == 2:
		return "binary"
	}
	return "multi_class"
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
	case "reconstruction":
		h = Reconstruction(dimension, opts...)
	default:
		return nil, fmt.Errorf("%s: unknown head %q: expected binary, multi_class, multi_label, regression, poisson, logistic or reconstruction", paramHead, kind)
	}
	if err := Check(h); err != nil {
		return nil, err
	}
	return h, nil
}

// paramReader reads a head's parameters.
type paramReader struct{ *params.Reader }

// kind returns the kind of head that the parameters name or imply.
func (r paramReader) kind() string {
	kind := r.text(paramHead)
	switch classes, dimension := r.Has(paramClasses), r.Has(paramDimension); {
	case r.Has(paramHead):
		r.checkCounts(kind, classes, dimension)
		return kind
	case classes && dimension:
		r.Fail(fmt.Errorf("both %s and %s: give one, or name the head", paramClasses, paramDimension))
	case classes:
		return "classes"
	case dimension:
		return "regression"
	default:
		r.Fail(fmt.Errorf("expected %s (classification) or %s (regression)%s", paramClasses, paramDimension, r.misspelt()))
	}
	return ""
}

// checkCounts reports a count that the named kind of head does not have.
func (r paramReader) checkCounts(kind string, classes, dimension bool) {
	switch ofClasses := slices.Contains([]string{"binary", "multi_class", "multi_label"}, kind); {
	case classes && slices.Contains([]string{"regression", "poisson", "logistic", "reconstruction"}, kind):
		r.Fail(fmt.Errorf("%s: a %s head predicts numbers: leave it out, or take another head", paramClasses, kind))
	case dimension && ofClasses:
		r.Fail(fmt.Errorf("%s: a %s head has %s instead", paramDimension, kind, paramClasses))
	}
}

// misspelt names a parameter that may be a misspelling of one that a head needs.
func (r paramReader) misspelt() string {
	for _, name := range slices.Sorted(maps.Keys(r.Rest())) {
		if near := spelling.Nearest(name, []string{paramClasses, "n_" + paramClasses, paramDimension}); near != "" {
			return fmt.Sprintf(", got %s", name)
		}
	}
	return ""
}

func (r paramReader) whole(name string, def int) int {
	return params.Get(r.Reader, name, "a whole number", def, params.Integer)
}

func (r paramReader) text(name string) string {
	return params.Get(r.Reader, name, "text", "", params.Text)
}

// options returns the options that parameters set.
func (r paramReader) options() []Option {
	var opts []Option
	if name := r.text(paramWeight); r.Has(paramWeight) {
		opts = append(opts, WithWeightColumn(name))
	}
	if name := r.text(paramReduction); r.Has(paramReduction) {
		reduction, err := losses.ParseReduction(name)
		if err != nil {
			r.Refuse(paramReduction, err)
		}
		opts = append(opts, WithLossReduction(reduction))
	}
	if words := r.Words(paramVocabulary); r.Has(paramVocabulary) {
		opts = append(opts, WithLabelVocabulary(words...))
	}
	if words := r.Words(paramNames); r.Has(paramNames) {
		opts = append(opts, WithClassNames(words...))
	}
	if thresholds := r.thresholds(); r.Has(paramThresholds) {
		opts = append(opts, WithThresholds(thresholds...))
	}
	if r.Has(paramMean) || r.Has(paramStd) {
		opts = append(opts, WithLabelScale(r.Float(paramMean, 0), r.Float(paramStd, 1)))
	}
	if weights := r.numbers(paramWeights); r.Has(paramWeights) {
		opts = append(opts, WithClassWeights(weights...))
	}
	return append(opts, r.metrics()...)
}

func (r paramReader) thresholds() []float64 {
	return r.numbers(paramThresholds)
}

func (r paramReader) numbers(name string) []float64 {
	return params.Get(r.Reader, name, "a list of numbers", nil, func(x any) ([]float64, bool) { return params.List(x, params.Float) })
}
