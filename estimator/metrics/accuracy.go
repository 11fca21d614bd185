package metrics

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// Accuracy is the weighted share of predictions that equal their labels
// (tf.keras.metrics.Accuracy).
type Accuracy struct{ ratio }

// NewAccuracy returns an Accuracy. Update takes labels, predictions[, weights]:
// class ids of any integer or float type.
func NewAccuracy() *Accuracy { return &Accuracy{newRatio("accuracy")} }

// Update implements Accumulator.
func (m *Accuracy) Update(ts ...*tensor.Tensor) error {
	a, err := pairArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	labels, err := classIDs("labels", a.labels, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	predictions, err := classIDs("predictions", a.predictions, 0)
	if err != nil {
		return fmt.Errorf("%s: %w (use binary_accuracy for probabilities, top_k for scores)", m.kind, err)
	}
	m.fold(len(labels), a.weights, func(i int) float64 { return oneIf(labels[i] == predictions[i]) })
	return nil
}

// BinaryAccuracy is the weighted share of probabilities on the correct side of a
// threshold (tf.keras.metrics.BinaryAccuracy).
type BinaryAccuracy struct {
	ratio
	threshold float32
}

// NewBinaryAccuracy returns a BinaryAccuracy that predicts 1 for probabilities
// strictly above the threshold, which must lie in [0, 1]. Update takes labels (0
// or 1), probabilities[, weights].
func NewBinaryAccuracy(threshold float64) (*BinaryAccuracy, error) {
	if err := checkThresholds("binary_accuracy", threshold); err != nil {
		return nil, err
	}
	kind := fmt.Sprintf("binary_accuracy(threshold=%v)", threshold)
	return &BinaryAccuracy{newRatio(kind), float32(threshold)}, nil
}

// Update implements Accumulator.
func (m *BinaryAccuracy) Update(ts ...*tensor.Tensor) error {
	labels, predictions, w, err := binaryArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	m.fold(len(labels), w, func(i int) float64 { return oneIf(labels[i] == (predictions[i] > m.threshold)) })
	return nil
}

// binaryArgs reads the arguments labels, probabilities[, weights] of a binary metric.
func binaryArgs(ts []*tensor.Tensor) (labels []bool, predictions []float32, w weighting, err error) {
	a, err := pairArgs(ts)
	if err != nil {
		return nil, nil, w, err
	}
	if labels, err = binaryLabels(a.labels); err != nil {
		return nil, nil, w, err
	}
	ps, err := within("predictions", a.predictions)
	if err != nil {
		return nil, nil, w, err
	}
	predictions = make([]float32, len(ps))
	for i, p := range ps {
		predictions[i] = float32(p)
	}
	return labels, predictions, a.weights, nil
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
