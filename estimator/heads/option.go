package heads

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/losses"
	G "gorgonia.org/gorgonia"
)

// ErrOption is wrapped by errors of constructors for an option that the head does not
// take, or that is out of range.
var ErrOption = errors.New("invalid option of a head")

// LossFn returns the losses of examples, [batch, 1] for classification and
// [batch, label_dimension] for regression. The head weighs and reduces them.
type LossFn func(mc *estimator.ModelContext, in LossInputs) *G.Node

// LossInputs are the inputs of a LossFn. Labels are ids [batch, 1], numbers
// [batch, label_dimension], or 0 and 1 [batch, n_classes].
type LossInputs struct {
	Labels, Logits *G.Node
	Features       models.Features
}

// An Option sets one option of a head. It is named after tf.estimator's argument.
type Option struct {
	name string
	set  func(*options)
}

// options are the options of all heads; each head reads its own.
type options struct {
	name         string
	weightColumn string
	thresholds   []float64
	vocabulary   []string // labels are words
	names        []string // of the classes, if labels are ids
	reduction    losses.Reduction
	lossFn       LossFn
	inverseLink  func(c models.Context, logits *G.Node) *G.Node
	classMetrics []int
	classNames   []string
	shortLoss    bool
	metrics      []NamedMetric
	sequences    []NamedMetric // metrics of sequences, for Sequential
	scale        *labelScale   // of the labels of a regression; nil: none
	classWeights []float64     // by ids; nil: none
}

// WithName names the head: "/name" is appended to its metrics. A head of a MultiHead needs one.
func WithName(name string) Option { return Option{"name", func(o *options) { o.name = name }} }

// WithWeightColumn names the feature that weighs the examples: [batch] or [batch, 1],
// or for regression also [batch, label_dimension]. The default is the input's column
// of the role weight, if there is one.
func WithWeightColumn(feature string) Option {
	return Option{"weight_column", func(o *options) { o.weightColumn = feature }}
}

// WithThresholds adds accuracy, precision and recall at thresholds of the probability, in (0, 1).
func WithThresholds(ts ...float64) Option {
	return Option{"thresholds", func(o *options) { o.thresholds = slices.Clone(ts) }}
}

// WithLabelVocabulary says that labels are words; the id of a word is its index.
func WithLabelVocabulary(words ...string) Option {
	return Option{"label_vocabulary", func(o *options) { o.vocabulary = append([]string{}, words...) }}
}

// WithClassNames names the classes in predictions, in the order of their ids. Labels are
// ids, for example from the vocabulary of an input's label column.
func WithClassNames(names ...string) Option {
	return Option{"class_names", func(o *options) { o.names = append([]string{}, names...) }}
}

// WithLossReduction says how the losses of examples become one. The default is
// losses.SumOverBatchSize; tf.compat.v1's canned estimators use losses.Sum.
func WithLossReduction(r losses.Reduction) Option {
	return Option{"loss_reduction", func(o *options) { o.reduction = r }}
}

// WithLossFn replaces the head's own loss.
func WithLossFn(fn LossFn) Option { return Option{"loss_fn", func(o *options) { o.lossFn = fn }} }

// WithInverseLink sets the function that turns the logits of a regression into predictions. The default is the identity.
func WithInverseLink(fn func(c models.Context, logits *G.Node) *G.Node) Option {
	return Option{"inverse_link_fn", func(o *options) { o.inverseLink = fn }}
}

// WithClassMetrics adds probability_mean, auc and auc_precision_recall for single
// classes (classes_for_class_based_metrics), given by their ids.
func WithClassMetrics(ids ...int) Option {
	return Option{"classes_for_class_based_metrics", func(o *options) { o.classMetrics = slices.Clone(ids) }}
}

// WithClassMetricsByName is WithClassMetrics with words of the label vocabulary, or names of classes.
func WithClassMetricsByName(words ...string) Option {
	return Option{"classes_for_class_based_metrics", func(o *options) { o.classNames = slices.Clone(words) }}
}

// WithFullLoss says whether the Poisson loss has its constant term log(label!). Default true.
func WithFullLoss(on bool) Option {
	return Option{"compute_full_loss", func(o *options) { o.shortLoss = !on }}
}

// newOptions applies the options of a head, which accepts the names in takes, and
// checks what does not depend on the number of classes.
func newOptions(head string, takes []string, opts []Option) (options, error) {
	o := options{reduction: losses.SumOverBatchSize}
	takes = append(append([]string{"name", "weight_column", "loss_reduction"}, takes...), "metrics")
	for _, opt := range opts {
		if !slices.Contains(takes, opt.name) {
			return o, fmt.Errorf("%s head: %w: %s: expected one of %s", head, ErrOption, opt.name, strings.Join(takes, ", "))
		}
		opt.set(&o)
	}
	if r, err := losses.ParseReduction(string(o.reduction)); err != nil || o.reduction == "" || r == losses.None {
		return o, fmt.Errorf("%s head: %w: invalid loss_reduction: %q: expected %s or %s", head, ErrOption, o.reduction, losses.SumOverBatchSize, losses.Sum)
	}
	for _, t := range o.thresholds {
		if !(t > 0 && t < 1) {
			return o, fmt.Errorf("%s head: %w: thresholds not in (0, 1): %v", head, ErrOption, o.thresholds)
		}
	}
	return o, nil
}

// classWords returns the names of the classes, nil if they have none.
func (o options) classWords() []string {
	if o.vocabulary != nil {
		return o.vocabulary
	}
	return o.names
}

// checkClasses reports words for another number of classes than n, and duplicate words.
func (o options) checkClasses(n int) error {
	if o.vocabulary != nil && o.names != nil {
		return fmt.Errorf("%w: both label_vocabulary and class_names: give the first where labels are words, the second where they are ids", ErrOption)
	}
	what, words := "label_vocabulary", o.vocabulary
	if words == nil {
		what, words = "class_names", o.names
	}
	if words == nil {
		return nil
	}
	if len(words) != n {
		return fmt.Errorf(`%w: "%[2]s" does not have "n_classes" items: len(%[2]s)=%[3]d, n_classes=%[4]d, %[2]s=%[5]q`,
			ErrOption, what, len(words), n, words)
	}
	for i, w := range words {
		if first := slices.Index(words, w); first < i {
			return fmt.Errorf("%w: %s has %q twice, as items %d and %d", ErrOption, what, w, first, i)
		}
	}
	return nil
}
