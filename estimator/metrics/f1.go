package metrics

import "fmt"

// Average says how the F1 scores of classes are averaged (the argument average of
// tf.keras.metrics.F1Score).
type Average string

// The averages.
const (
	Macro    Average = "macro"     // the mean over all classes, including classes without examples
	Micro    Average = "micro"     // the score of the sums over all classes
	Weighted Average = "weighted"  // the mean, weighted by the examples of each class
	Each     Average = "per_class" // no average: [classes]
)

// NewF1 returns the harmonic mean of precision and recall of the second of two classes at each
// threshold (tf.keras.metrics.F1Score with a threshold). Arguments and result are as for NewPrecision.
func NewF1(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("f1", thresholds, func(c confusion) float64 { return f1(c.tp, c.tp+c.fn, c.tp+c.fp) })
}

// ClassF1 is an average of the F scores of classes, or the score of each (tf.keras.metrics.F1Score, FBetaScore).
type ClassF1 struct {
	classTotals
	average Average
	beta    float64 // of an FBeta score; 0: F1
}

// NewClassF1 returns the F1 scores of class ids in [0, classes). Update takes labels, predictions[, weights].
func NewClassF1(average Average, classes int) (*ClassF1, error) {
	return newClassF1("f1_"+string(average), average, 0, classes)
}

func newClassF1(name string, average Average, beta float64, classes int) (*ClassF1, error) {
	switch average {
	case Macro, Micro, Weighted, Each:
	default:
		return nil, fmt.Errorf("f1: %w: expected the average %s, %s, %s or %s, got %q", ErrParameter, Macro, Micro, Weighted, Each, average)
	}
	t, err := newClassTotals(name, classes)
	if err != nil {
		return nil, err
	}
	return &ClassF1{t, average, beta}, nil
}

// NewLabelF1 returns the F1 scores of examples that have any number of classes. Update takes 0 or 1 for
// each class, [batch, classes], and probabilities of that shape; those above the threshold count as 1.
func NewLabelF1(average Average, classes int, threshold float64) (*ClassF1, error) {
	return newLabelF1("f1_"+string(average), average, 0, classes, threshold)
}

func newLabelF1(name string, average Average, beta float64, classes int, threshold float64) (*ClassF1, error) {
	m, err := newClassF1(name, average, beta, classes)
	if err != nil {
		return nil, err
	}
	if err := checkThresholds(name, threshold); err != nil {
		return nil, err
	}
	at := float32(threshold)
	m.threshold, m.kind = &at, fmt.Sprintf("%s(classes=%d, threshold=%v)", name, classes, threshold)
	return m, nil
}

// score returns the score of a class.
func (m *ClassF1) score(hits, labels, predictions float64) float64 {
	if m.beta == 0 {
		return f1(hits, labels, predictions)
	}
	return fBeta(m.beta, hits, labels, predictions)
}

// Result implements Accumulator.
func (m *ClassF1) Result() Value {
	scores := make([]float64, m.classes)
	var hits, labels, predictions, mean, weighted float64
	for c := range scores {
		h, l, p := m.class(c)
		scores[c] = m.score(h, l, p)
		hits, labels, predictions = hits+h, labels+l, predictions+p
		mean += scores[c]
		weighted += scores[c] * l
	}
	switch m.average {
	case Macro:
		return scalar(mean / float64(m.classes))
	case Micro:
		return scalar(m.score(hits, labels, predictions))
	case Weighted:
		return scalar(divNoNaN(weighted, labels))
	}
	return Value{Shape: []int{m.classes}, Data: scores}
}
