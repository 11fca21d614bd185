package metrics

import (
	"fmt"

	"github.com/goestimator/goestimator/tensor"
)

// classTotals has three weights for each class: of the examples that have it as both label and
// prediction (hits), as their label, and as their prediction. Metrics of single classes need only
// these, which grow linearly with the number of classes.
type classTotals struct {
	state     // sums: hits, labels, predictions, [classes] each
	classes   int
	threshold *float32 // of the probability of each class; nil: labels and predictions are class ids
}

func newClassTotals(name string, classes int) (classTotals, error) {
	if classes < 1 || classes > maxTotals {
		return classTotals{}, fmt.Errorf("%s: %w: expected classes in [1, %d], got %d", name, ErrParameter, maxTotals, classes)
	}
	return classTotals{state: newState(fmt.Sprintf("%s(classes=%d)", name, classes), 3*classes), classes: classes}, nil
}

// maxTotals bounds the totals to 384 MiB.
const maxTotals = 1 << 24

// Update implements Accumulator.
func (m *classTotals) Update(ts ...*tensor.Tensor) error {
	a, err := pairArgs(ts)
	if err == nil {
		if m.threshold != nil {
			err = m.indicators(a)
		} else {
			err = m.ids(a)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	return nil
}

// ids adds examples that have one class each.
func (m *classTotals) ids(a args) error {
	labels, err := classIDs("labels", a.labels, m.classes)
	if err != nil {
		return err
	}
	predictions, err := classIDs("predictions", a.predictions, m.classes)
	if err != nil {
		return err
	}
	for i, label := range labels {
		w := a.weights.at(i)
		if predicted := predictions[i]; predicted == label {
			m.sums[label] += w
		}
		m.sums[m.classes+int(label)] += w
		m.sums[2*m.classes+int(predictions[i])] += w
	}
	return nil
}

// indicators adds examples that have any number of classes: for each class 0 or 1, and a probability.
func (m *classTotals) indicators(a args) error {
	if n := len(a.labels.Shape); m.classes > 1 && (n < 2 || a.labels.Shape[n-1] != m.classes) {
		return fmt.Errorf("labels: expected shape [batch, %d], got %v", m.classes, a.labels.Shape)
	}
	labels, err := binaryLabels(a.labels)
	if err != nil {
		return err
	}
	predictions, err := within("predictions", a.predictions)
	if err != nil {
		return err
	}
	for i, label := range labels {
		w, class, above := a.weights.at(i), i%m.classes, float32(predictions[i]) > *m.threshold
		if label && above {
			m.sums[class] += w
		}
		if label {
			m.sums[m.classes+class] += w
		}
		if above {
			m.sums[2*m.classes+class] += w
		}
	}
	return nil
}

// class returns the totals of one class.
func (m *classTotals) class(c int) (hits, labels, predictions float64) {
	return m.sums[c], m.sums[m.classes+c], m.sums[2*m.classes+c]
}

// A ClassReport says how well examples of one class are predicted.
type ClassReport struct {
	Precision, Recall, F1 float64 // 0 if the denominator is 0
	Support               float64 // the weight of the examples of the class
	Predicted             float64 // the weight of the examples predicted as this class
}

// PerClass returns the report of each class from a confusion matrix [classes, classes], whose element
// [i, j] is the weight of the examples of class i that were predicted as class j. Other shapes are an error.
func PerClass(matrix Value) ([]ClassReport, error) {
	if len(matrix.Shape) != 2 || matrix.Shape[0] != matrix.Shape[1] || len(matrix.Data) != matrix.Shape[0]*matrix.Shape[0] {
		return nil, fmt.Errorf("confusion matrix: expected shape [classes, classes], got %v", matrix.Shape)
	}
	n := matrix.Shape[0]
	out := make([]ClassReport, n)
	for i := range n {
		for j := range n {
			out[i].Support += matrix.Data[i*n+j]
			out[j].Predicted += matrix.Data[i*n+j]
		}
	}
	for c := range out {
		r, hits := &out[c], matrix.Data[c*n+c]
		r.Precision, r.Recall = divNoNaN(hits, r.Predicted), divNoNaN(hits, r.Support)
		r.F1 = f1(hits, r.Support, r.Predicted)
	}
	return out, nil
}

// f1 is the harmonic mean of hits/predictions and hits/labels, 0 if both are 0.
func f1(hits, labels, predictions float64) float64 { return divNoNaN(2*hits, labels+predictions) }
