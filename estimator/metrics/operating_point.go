package metrics

import (
	"fmt"
	"math"
)

// OperatingPoint is the greatest value of one ratio while another meets a bound, such
// as sensitivity at specificity.
type OperatingPoint struct {
	histogram
	bound                  float64
	constrained, dependent func(confusion) float64
}

// NewSensitivityAtSpecificity returns the greatest recall at any threshold whose specificity
// is at least bound (tf.keras.metrics.SensitivityAtSpecificity). bound lies in [0, 1];
// numThresholds thresholds (0 means 200) are spaced evenly in [0, 1]; 1 means only 0.5.
// Update takes labels (0 or 1), predictions in [0, 1][, weights]. The result
// is 0 if no threshold meets the bound.
func NewSensitivityAtSpecificity(bound float64, numThresholds int) (*OperatingPoint, error) {
	m := OperatingPoint{bound: bound, constrained: confusion.specificity, dependent: confusion.recall}
	return m.open("sensitivity_at_specificity", numThresholds)
}

// NewSpecificityAtSensitivity returns the greatest specificity where recall is at least bound
// (tf.keras.metrics.SpecificityAtSensitivity); otherwise as NewSensitivityAtSpecificity.
func NewSpecificityAtSensitivity(bound float64, numThresholds int) (*OperatingPoint, error) {
	m := OperatingPoint{bound: bound, constrained: confusion.recall, dependent: confusion.specificity}
	return m.open("specificity_at_sensitivity", numThresholds)
}

// NewPrecisionAtRecall returns the greatest precision where recall is at least bound
// (tf.keras.metrics.PrecisionAtRecall); otherwise as NewSensitivityAtSpecificity.
func NewPrecisionAtRecall(bound float64, numThresholds int) (*OperatingPoint, error) {
	m := OperatingPoint{bound: bound, constrained: confusion.recall, dependent: confusion.precision}
	return m.open("precision_at_recall", numThresholds)
}

// NewRecallAtPrecision returns the greatest recall where precision is at least bound
// (tf.keras.metrics.RecallAtPrecision); otherwise as NewSensitivityAtSpecificity.
func NewRecallAtPrecision(bound float64, numThresholds int) (*OperatingPoint, error) {
	m := OperatingPoint{bound: bound, constrained: confusion.precision, dependent: confusion.recall}
	return m.open("recall_at_precision", numThresholds)
}

// open checks the parameters and returns m with its state.
func (m OperatingPoint) open(name string, n int) (*OperatingPoint, error) {
	if n == 0 {
		n = defaultThresholds
	}
	if math.IsNaN(m.bound) || m.bound < 0 || m.bound > 1 {
		return nil, fmt.Errorf("%s: %w: expected a bound in [0, 1], got %v", name, ErrParameter, m.bound)
	}
	if n < 1 || n > maxThresholds {
		return nil, fmt.Errorf("%s: %w: expected 1 to %d thresholds, got %d", name, ErrParameter, maxThresholds, n)
	}
	thresholds := []float64{0.5}
	if n > 1 {
		thresholds = evenThresholds(n, 0)
	}
	m.histogram = newHistogram(fmt.Sprintf("%s(bound=%v, thresholds=%d)", name, m.bound, n), thresholds)
	return &m, nil
}

// Result implements Accumulator.
func (m *OperatingPoint) Result() Value {
	best := 0.0
	for _, c := range m.confusions() {
		if m.constrained(c) >= m.bound {
			best = math.Max(best, m.dependent(c))
		}
	}
	return scalar(best)
}
