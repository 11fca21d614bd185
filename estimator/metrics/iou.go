package metrics

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// IoU is the intersection over union of labels and predictions for some classes: the mean over
// the classes that occur, or the value of each class (tf.keras.metrics.IoU).
type IoU struct {
	classTotals
	targets []int
	each    bool
}

// NewIoU returns the mean over the target classes; without targets, over all. Update takes labels,
// predictions[, weights], with class ids in [0, classes).
func NewIoU(classes int, targets ...int) (*IoU, error) {
	return newIoU("iou", classes, targets)
}

// NewIoUPerClass returns the intersection over union of each class, [classes], 0 for classes that do
// not occur. Update is as for NewIoU.
func NewIoUPerClass(classes int) (*IoU, error) {
	m, err := newIoU("iou_per_class", classes, nil)
	if err == nil {
		m.each = true
	}
	return m, err
}

func newIoU(name string, classes int, targets []int) (*IoU, error) {
	t, err := newClassTotals(name, classes)
	if err != nil {
		return nil, err
	}
	for _, c := range targets {
		if c < 0 || c >= classes {
			return nil, fmt.Errorf("%s: %w: expected target classes in [0, %d), got %d", name, ErrParameter, classes, c)
		}
	}
	if len(targets) > 0 {
		t.kind = fmt.Sprintf("%s(classes=%d, targets=%v)", name, classes, targets)
		return &IoU{classTotals: t, targets: slices.Clone(targets)}, nil
	}
	m := &IoU{classTotals: t, targets: make([]int, classes)}
	for c := range m.targets {
		m.targets[c] = c
	}
	return m, nil
}

// Result implements Accumulator.
func (m *IoU) Result() Value {
	each := make([]float64, len(m.targets))
	var total, valid float64
	for i, c := range m.targets {
		hits, labels, predictions := m.class(c)
		if union := labels + predictions - hits; union != 0 {
			each[i] = hits / union
			total += each[i]
			valid++
		}
	}
	if m.each {
		return Value{Shape: []int{m.classes}, Data: each}
	}
	return scalar(divNoNaN(total, valid))
}

// BinaryIoU is the IoU of labels 0 or 1 and of probabilities, which count as 1 if they reach a
// threshold (tf.keras.metrics.BinaryIoU).
type BinaryIoU struct {
	IoU
	from float32
}

// NewBinaryIoU returns the mean over the target classes, 0 or 1; without targets, over both. Update
// takes labels (0 or 1), probabilities[, weights]. Unlike for NewF1, a probability equal to the threshold counts as 1.
func NewBinaryIoU(threshold float64, targets ...int) (*BinaryIoU, error) {
	if err := checkThresholds("binary_iou", threshold); err != nil {
		return nil, err
	}
	m, err := newIoU("binary_iou", 2, targets)
	if err != nil {
		return nil, err
	}
	m.kind = fmt.Sprintf("binary_iou(threshold=%v, targets=%v)", threshold, m.targets)
	return &BinaryIoU{*m, float32(threshold)}, nil
}

// Update implements Accumulator.
func (m *BinaryIoU) Update(ts ...*tensor.Tensor) error {
	labels, predictions, w, err := binaryArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	for i, one := range labels {
		label, predicted := int(oneIf(one)), int(oneIf(predictions[i] >= m.from))
		if label == predicted {
			m.sums[label] += w.at(i)
		}
		m.sums[2+label] += w.at(i)
		m.sums[4+predicted] += w.at(i)
	}
	return nil
}
