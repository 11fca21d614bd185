package metrics

import (
	"fmt"
	"math"
)

// NewFBeta returns the F score of the second of two classes at each threshold, in which recall counts beta
// times as much as precision: (1+beta²)·precision·recall / (beta²·precision + recall) (tf.keras.metrics.FBetaScore
// with a threshold). With a beta of 1 it is NewF1. Other arguments and the result are as for NewPrecision.
func NewFBeta(beta float64, thresholds ...float64) (*AtThresholds, error) {
	name, err := fBetaName("fbeta", beta)
	if err != nil {
		return nil, err
	}
	m, err := newAtThresholds(name, thresholds, func(c confusion) float64 { return fBeta(beta, c.tp, c.tp+c.fn, c.tp+c.fp) })
	if err != nil {
		return nil, err
	}
	m.beta = beta
	return m, nil
}

// NewClassFBeta is NewClassF1 for F scores in which recall counts beta times as much as precision (tf.keras.metrics.FBetaScore).
func NewClassFBeta(average Average, beta float64, classes int) (*ClassF1, error) {
	name, err := fBetaName("fbeta_"+string(average), beta)
	if err != nil {
		return nil, err
	}
	return newClassF1(name, average, beta, classes)
}

// NewLabelFBeta is NewLabelF1 for F scores in which recall counts beta times as much as precision.
func NewLabelFBeta(average Average, beta float64, classes int, threshold float64) (*ClassF1, error) {
	name, err := fBetaName("fbeta_"+string(average), beta)
	if err != nil {
		return nil, err
	}
	return newLabelF1(name, average, beta, classes, threshold)
}

// fBetaName returns the kind of a metric with that beta: metrics with different betas cannot be merged.
func fBetaName(name string, beta float64) (string, error) {
	if !(beta > 0) || math.IsInf(beta, 0) { // rejects NaN too
		return "", fmt.Errorf("%s: %w beta: expected a number > 0, got %v", name, ErrParameter, beta)
	}
	return fmt.Sprintf("%s(beta=%v)", name, beta), nil
}

// fBeta is the F score, 0 without labels and predictions.
func fBeta(beta, hits, labels, predictions float64) float64 {
	square := beta * beta
	return divNoNaN((1+square)*hits, square*labels+predictions)
}
