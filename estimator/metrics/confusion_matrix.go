package metrics

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// classCounts is the weight of every (label, prediction) pair of class ids.
type classCounts struct {
	state   // sums[label*classes+prediction]
	classes int
}

func newClassCounts(name string, classes int) (classCounts, error) {
	if classes < 1 || classes > maxClasses {
		return classCounts{}, fmt.Errorf("%s: %w: expected classes in [1, %d], got %d", name, ErrParameter, maxClasses, classes)
	}
	return classCounts{newState(fmt.Sprintf("%s(classes=%d)", name, classes), classes*classes), classes}, nil
}

// maxClasses bounds a confusion matrix to 2 GiB of counts.
const maxClasses = 1 << 14

// Update implements Accumulator.
func (m *classCounts) Update(ts ...*tensor.Tensor) error {
	a, err := pairArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	labels, err := classIDs("labels", a.labels, m.classes)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	predictions, err := classIDs("predictions", a.predictions, m.classes)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	for i, label := range labels {
		m.sums[int(label)*m.classes+int(predictions[i])] += a.weights.at(i)
	}
	return nil
}

// ConfusionMatrix holds at [i, j] the weight of the examples of class i that were
// predicted as class j (tf.math.confusion_matrix).
type ConfusionMatrix struct{ classCounts }

// NewConfusionMatrix returns a ConfusionMatrix of class ids in [0, classes).
// Update takes labels, predictions[, weights]; the result has shape [classes, classes].
func NewConfusionMatrix(classes int) (*ConfusionMatrix, error) {
	c, err := newClassCounts("confusion_matrix", classes)
	if err != nil {
		return nil, err
	}
	return &ConfusionMatrix{c}, nil
}

// Result implements Accumulator.
func (m *ConfusionMatrix) Result() Value {
	return Value{Shape: []int{m.classes, m.classes}, Data: append([]float64(nil), m.sums...)}
}

// MeanIoU is the mean, over the classes that occur, of intersection over union of
// labels and predictions (tf.keras.metrics.MeanIoU).
type MeanIoU struct{ classCounts }

// NewMeanIoU returns a MeanIoU of class ids in [0, classes). Update takes labels,
// predictions[, weights].
func NewMeanIoU(classes int) (*MeanIoU, error) {
	c, err := newClassCounts("mean_iou", classes)
	if err != nil {
		return nil, err
	}
	return &MeanIoU{c}, nil
}

// Result implements Accumulator.
func (m *MeanIoU) Result() Value {
	var total, valid float64
	for c := range m.classes {
		var row, column float64
		for j := range m.classes {
			row += m.sums[c*m.classes+j]
			column += m.sums[j*m.classes+c]
		}
		hit := m.sums[c*m.classes+c]
		if union := row + column - hit; union != 0 {
			total += hit / union
			valid++
		}
	}
	return scalar(divNoNaN(total, valid))
}
