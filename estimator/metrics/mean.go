package metrics

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// ratio is the state of a weighted mean: sums[0] is the weighted total,
// sums[1] the sum of the weights.
type ratio struct{ state }

func newRatio(kind string) ratio { return ratio{newState(kind, 2)} }

// Result implements Accumulator: total / weights, 0 if the weights sum to 0.
func (r *ratio) Result() Value { return scalar(divNoNaN(r.sums[0], r.sums[1])) }

// fold adds n values with their weights, in order.
func (r *ratio) fold(n int, w weighting, value func(i int) float64) {
	var total, weights float64
	for i := range n {
		wi := w.at(i)
		total += wi * value(i)
		weights += wi
	}
	r.sums[0] += total
	r.sums[1] += weights
}

// Mean is the weighted mean of values (tf.keras.metrics.Mean).
type Mean struct{ ratio }

// NewMean returns a Mean. Update takes values (any shape)[, weights].
func NewMean() *Mean { return &Mean{newRatio("mean")} }

// Update implements Accumulator.
func (m *Mean) Update(ts ...*tensor.Tensor) error {
	vs, w, err := valueArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	m.fold(len(vs), w, func(i int) float64 { return vs[i] })
	return nil
}

// valueArgs reads the arguments values[, weights].
func valueArgs(ts []*tensor.Tensor) ([]float64, weighting, error) {
	if len(ts) != 1 && len(ts) != 2 {
		return nil, weighting{}, fmt.Errorf("expected values and optionally weights, got %d tensors", len(ts))
	}
	vs, err := numbers[float64]("values", ts[0])
	if err != nil {
		return nil, weighting{}, err
	}
	var weights *tensor.Tensor
	if len(ts) == 2 {
		weights = ts[1]
	}
	w, err := newWeighting(weights, ts[0].Shape)
	return vs, w, err
}

// AccuracyBaseline is the accuracy of always predicting the more frequent of two
// classes: the greater of the mean label and 1 minus it (tf.estimator's
// accuracy_baseline).
type AccuracyBaseline struct{ Mean }

// NewAccuracyBaseline returns an AccuracyBaseline. Update takes labels (0 or 1)[, weights].
func NewAccuracyBaseline() *AccuracyBaseline {
	return &AccuracyBaseline{Mean{newRatio("accuracy_baseline")}}
}

// Result implements Accumulator.
func (m *AccuracyBaseline) Result() Value {
	ones, all := m.sums[0], m.sums[1]
	return scalar(divNoNaN(max(ones, all-ones), all))
}
