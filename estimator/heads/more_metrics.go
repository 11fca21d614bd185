package heads

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/estimator/metrics"
	G "gorgonia.org/gorgonia"
)

// A NamedMetric is a metric that evaluations have in addition to the head's own.
type NamedMetric struct {
	Kind   string          // the name that metrics.New takes
	Name   string          // in results and events; "": the kind
	Params []metrics.Param // the head sets the number of classes and of outputs, and from_logits
}

// key is the metric's name in results.
func (m NamedMetric) key() string {
	if m.Name != "" {
		return m.Name
	}
	return m.Kind
}

// WithMetrics adds metrics to evaluations. Which metrics a head takes depends on what it predicts:
//
//	two classes       metrics of probabilities (f1, precision, ...) and of class ids (f1_macro, confusion_matrix, iou, ...)
//	more classes      metrics of class ids and of scores (top_k, perplexity)
//	several labels    metrics of probabilities, and averages of F1 scores
//	numbers           r2, mape and others; a reconstruction too
//
// Classes in a Sequential head take metrics of sequences, too (bleu).
func WithMetrics(ms ...NamedMetric) Option {
	return Option{"metrics", func(o *options) { o.metrics = slices.Clone(ms) }}
}

// operand is what a metric is updated with, apart from weights.
type operand string

const (
	ofProbabilities operand = "labels and probabilities"
	ofClassIDs      operand = "class ids"
	ofScores        operand = "scores of classes"
	ofNumbers       operand = "numbers"
	ofLabels        operand = "labels of examples that have several"
	ofSequences     operand = "class ids of the steps of sequences"
)

// operandOf has the operand of each metric that heads take.
var operandOf = func() map[string]operand {
	all := map[string]operand{}
	for operand, kinds := range map[operand][]string{
		ofProbabilities: {"auc", "auc_precision_recall", "binary_accuracy", "binary_iou", "f1", "false_negatives", "fbeta", "false_positives", "log_loss",
			"precision", "precision_at_recall", "recall", "recall_at_precision", "sensitivity", "sensitivity_at_specificity", "specificity",
			"specificity_at_sensitivity", "true_negatives", "true_positives"},
		ofClassIDs: {"accuracy", "confusion_matrix", "f1_macro", "f1_micro", "f1_per_class", "f1_weighted", "fbeta_macro", "fbeta_micro", "fbeta_per_class", "fbeta_weighted", "iou", "iou_per_class", "mean_iou"},
		ofScores:   {"perplexity", "sparse_categorical_crossentropy", "top_k"},
		ofNumbers:  {"cosine_similarity", "mae", "mape", "mse", "r2", "rmse"},

		ofSequences: {"bleu"},
	} {
		for _, kind := range kinds {
			all[kind] = operand
		}
	}
	return all
}()

// takenAs returns the operand of a metric, "" if a head with these operands cannot have it.
func takenAs(kind string, has []operand) operand {
	of := operandOf[kind]
	switch {
	case slices.Contains(has, of):
		return of
	case (strings.HasPrefix(kind, "f1_") || strings.HasPrefix(kind, "fbeta_")) && slices.Contains(has, ofLabels):
		return ofLabels
	}
	return ""
}

// metricsFor returns the metrics that a head with these operands takes, sorted.
func metricsFor(has []operand) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(operandOf)), func(kind string) bool { return takenAs(kind, has) == "" })
}

// metricParams returns the metric's parameters and those that the head sets.
func (b base) metricParams(m NamedMetric, of operand) []metrics.Param {
	var own []metrics.Param
	switch {
	case of == ofClassIDs && m.Kind != "accuracy":
		own = append(own, metrics.WithClasses(max(b.dimension, 2)))
	case of == ofLabels:
		own = append(own, metrics.WithClasses(b.dimension), metrics.WithThresholds(0.5))
	case of == ofScores && m.Kind != "top_k":
		own = append(own, metrics.WithLogits(true))
	case m.Kind == "r2":
		own = append(own, metrics.WithOutputs(b.dimension))
	}
	return append(own, m.Params...)
}

// checkMetrics reports metrics that a head with these operands cannot have.
func (b *base) checkMetrics(has ...operand) error {
	seen := map[string]bool{}
	for _, m := range b.metrics {
		of := takenAs(m.Kind, has)
		if of == "" {
			return fmt.Errorf("%w: metrics: unknown metric %q of this head: known are %s", ErrOption, m.Kind, strings.Join(metricsFor(has), ", "))
		}
		if _, err := metrics.New(m.Kind, b.metricParams(m, of)...); err != nil {
			return fmt.Errorf("%w: metrics: %w", ErrOption, err)
		}
		if seen[m.key()] {
			return fmt.Errorf("%w: metrics: two have the name %q: give one another", ErrOption, m.key())
		}
		seen[m.key()] = true
	}
	return nil
}

// checkClassMetrics is checkMetrics for a head of classes. It sets metrics of sequences aside for Sequential.
func (b *base) checkClassMetrics(has ...operand) error {
	if err := b.checkMetrics(append(has, ofSequences)...); err != nil {
		return err
	}
	all := b.metrics
	b.metrics, b.sequences = nil, nil
	for _, m := range all {
		if operandOf[m.Kind] == ofSequences {
			b.sequences = append(b.sequences, m)
		} else {
			b.metrics = append(b.metrics, m)
		}
	}
	return nil
}

// checkSteps reports metrics of sequences in a head that is not Sequential.
func (b base) checkSteps() error {
	if len(b.sequences) == 0 {
		return nil
	}
	return fmt.Errorf("%w: metrics: %s is of the steps of sequences: expected a head that predicts each step, as rnn_classifier with return_sequences has it", ErrOption, b.sequences[0].Kind)
}

// addMore adds the metrics of WithMetrics, with the head's operands.
func (s *metricSet) addMore(b base, args map[operand][]*G.Node) error {
	has := slices.Collect(maps.Keys(args))
	for _, m := range b.metrics {
		key := m.key()
		if _, own := s.all[suffixed(key, s.name)]; own {
			return fmt.Errorf("%w: metrics: the head has a metric %q already: give another name", ErrOption, key)
		}
		of := takenAs(m.Kind, has)
		s.add(key, m.Kind, args[of], b.metricParams(m, of)...)
	}
	return nil
}
