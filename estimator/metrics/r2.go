package metrics

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// R2 is the share of the labels' variance that predictions explain, averaged over outputs
// (tf.keras.metrics.R2Score): 1 - sum((label-prediction)^2) / sum((label-mean)^2).
type R2 struct {
	state   // sums of labels, squared labels, squared errors and weights, [outputs] each
	outputs int
}

// NewR2 returns an R2. Update takes labels, predictions[, weights], [batch, outputs] or, for one output, also
// [batch]. As in Keras it is NaN before the first example. If the labels of an output are all equal, the result is NaN
// if they are predicted exactly; otherwise that output counts as 0.
func NewR2(outputs int) (*R2, error) {
	if outputs < 1 || outputs > maxTotals {
		return nil, fmt.Errorf("r2: %w: expected outputs in [1, %d], got %d", ErrParameter, maxTotals, outputs)
	}
	return &R2{newState(fmt.Sprintf("r2(outputs=%d)", outputs), 4*outputs), outputs}, nil
}

// Update implements Accumulator.
func (m *R2) Update(ts ...*tensor.Tensor) error {
	a, err := pairArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	if s := a.predictions.Shape; m.outputs > 1 && (len(s) < 2 || s[len(s)-1] != m.outputs) {
		return fmt.Errorf("%s: predictions: expected shape [batch, %d], got %v", m.kind, m.outputs, s)
	}
	labels, err := numbers[float64]("labels", a.labels)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	predictions, err := numbers[float64]("predictions", a.predictions)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	for i, y := range labels {
		w, d := a.weights.at(i), i%m.outputs
		m.sums[d] += w * y
		m.sums[m.outputs+d] += w * y * y
		m.sums[2*m.outputs+d] += w * squaredError(y, predictions[i])
		m.sums[3*m.outputs+d] += w
	}
	return nil
}

// Result implements Accumulator.
func (m *R2) Result() Value {
	total := 0.0
	for d := range m.outputs {
		sum, squares, errors, weights := m.sums[d], m.sums[m.outputs+d], m.sums[2*m.outputs+d], m.sums[3*m.outputs+d]
		score := 1 - errors/(squares-sum*(sum/weights))
		if math.IsInf(score, 0) {
			score = 0
		}
		total += score
	}
	return scalar(total / float64(m.outputs))
}
