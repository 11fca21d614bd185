package metrics

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/goestimator/goestimator/tensor"
)

// histogram is the state of every metric of binary labels at thresholds: two
// histograms of predictions, one for each label, 1 before 0. Bucket b holds the
// weight of the predictions strictly above exactly b thresholds.
type histogram struct {
	state
	thresholds []float32 // ascending
}

func newHistogram(kind string, thresholds []float64) histogram {
	ascending := slices.Clone(thresholds)
	sort.Float64s(ascending)
	h := histogram{state: newState(kind, 2*(len(thresholds)+1))}
	for _, t := range ascending {
		h.thresholds = append(h.thresholds, float32(t))
	}
	return h
}

// Update implements Accumulator.
func (m *histogram) Update(ts ...*tensor.Tensor) error {
	labels, predictions, w, err := binaryArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	negatives := len(m.thresholds) + 1
	for i, p := range predictions {
		bucket, _ := slices.BinarySearch(m.thresholds, p)
		if !labels[i] {
			bucket += negatives
		}
		m.sums[bucket] += w.at(i)
	}
	return nil
}

// confusion is the confusion matrix of binary predictions at one threshold, by weight.
type confusion struct{ tp, fp, tn, fn float64 }

// confusions returns the confusion matrix at each threshold, in ascending order.
func (m *histogram) confusions() []confusion {
	n := len(m.thresholds)
	positives, negatives := m.sums[:n+1], m.sums[n+1:]
	out := make([]confusion, n)
	var below confusion
	for t := range out {
		below.fn += positives[t]
		below.tn += negatives[t]
		out[t].fn, out[t].tn = below.fn, below.tn
	}
	var above confusion
	for t := n - 1; t >= 0; t-- {
		above.tp += positives[t+1]
		above.fp += negatives[t+1]
		out[t].tp, out[t].fp = above.tp, above.fp
	}
	return out
}

// AtThresholds is a function of the binary confusion matrix at each of some
// thresholds: precision, recall, specificity, an F score or one of the four counts. A
// prediction is positive if it is strictly above the threshold.
type AtThresholds struct {
	histogram
	order []int // index in thresholds of each threshold as given
	share func(confusion) float64
	beta  float64 // of an F score other than F1
}

// NewPrecision returns tp / (tp + fp) at each threshold (tf.keras.metrics.Precision).
// Update takes labels (0 or 1), predictions in [0, 1][, weights]. No threshold means 0.5; the
// result is a scalar for one threshold, else [thresholds] in the order given.
func NewPrecision(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("precision", thresholds, confusion.precision)
}

// NewRecall returns tp / (tp + fn) at each threshold (tf.keras.metrics.Recall), also called
// sensitivity. Arguments and result are as for NewPrecision.
func NewRecall(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("recall", thresholds, confusion.recall)
}

// NewSpecificity returns tn / (tn + fp) at each threshold. Arguments and result are
// as for NewPrecision.
func NewSpecificity(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("specificity", thresholds, confusion.specificity)
}

// NewTruePositives returns the weight of the positives predicted positive. Arguments
// and result are as for NewPrecision.
func NewTruePositives(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("true_positives", thresholds, func(c confusion) float64 { return c.tp })
}

// NewFalsePositives returns the weight of the negatives predicted positive.
// Arguments and result are as for NewPrecision.
func NewFalsePositives(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("false_positives", thresholds, func(c confusion) float64 { return c.fp })
}

// NewTrueNegatives returns the weight of the negatives predicted negative. Arguments
// and result are as for NewPrecision.
func NewTrueNegatives(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("true_negatives", thresholds, func(c confusion) float64 { return c.tn })
}

// NewFalseNegatives returns the weight of the positives predicted negative.
// Arguments and result are as for NewPrecision.
func NewFalseNegatives(thresholds ...float64) (*AtThresholds, error) {
	return newAtThresholds("false_negatives", thresholds, func(c confusion) float64 { return c.fn })
}

func newAtThresholds(name string, thresholds []float64, value func(confusion) float64) (*AtThresholds, error) {
	if len(thresholds) == 0 {
		thresholds = []float64{0.5}
	}
	if err := checkThresholds(name, thresholds...); err != nil {
		return nil, err
	}
	m := &AtThresholds{share: value, order: make([]int, len(thresholds))}
	m.histogram = newHistogram(fmt.Sprintf("%s(thresholds=%v)", name, thresholds), thresholds)
	for i, t := range thresholds {
		m.order[i], _ = slices.BinarySearch(m.thresholds, float32(t))
	}
	return m, nil
}

// Result implements Accumulator.
func (m *AtThresholds) Result() Value {
	at := m.confusions()
	if len(at) == 1 {
		return scalar(m.share(at[0]))
	}
	v := Value{Shape: []int{len(at)}, Data: make([]float64, len(at))}
	for i, o := range m.order {
		v.Data[i] = m.share(at[o])
	}
	return v
}

func (c confusion) precision() float64   { return divNoNaN(c.tp, c.tp+c.fp) }
func (c confusion) recall() float64      { return divNoNaN(c.tp, c.tp+c.fn) }
func (c confusion) specificity() float64 { return divNoNaN(c.tn, c.tn+c.fp) }
func (c confusion) fallout() float64     { return divNoNaN(c.fp, c.fp+c.tn) }

// checkThresholds checks that all lie in [0, 1].
func checkThresholds(name string, thresholds ...float64) error {
	for _, t := range thresholds {
		if math.IsNaN(t) || t < 0 || t > 1 {
			return fmt.Errorf("%s: %w: expected thresholds in [0, 1], got %v", name, ErrParameter, t)
		}
	}
	return nil
}
