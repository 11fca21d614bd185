package metrics

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// CrossEntropy is the weighted mean cross entropy of class scores against class
// ids (tf.keras.metrics.SparseCategoricalCrossentropy).
type CrossEntropy struct {
	ratio
	fromLogits bool
}

// NewSparseCategoricalCrossentropy returns a CrossEntropy of probabilities, or of
// logits. Probabilities are clipped to [1e-7, 1-1e-7] and then normalised, as Keras
// does. Update takes class ids [B...], scores [B..., classes][, weights].
func NewSparseCategoricalCrossentropy(fromLogits bool) *CrossEntropy {
	kind := fmt.Sprintf("sparse_categorical_crossentropy(from_logits=%v)", fromLogits)
	return &CrossEntropy{newRatio(kind), fromLogits}
}

// Update implements Accumulator.
func (m *CrossEntropy) Update(ts ...*tensor.Tensor) error {
	b, err := scoreArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	loss := probabilityLoss
	if m.fromLogits {
		loss = logitLoss
	}
	m.fold(len(b.labels), b.weights, func(i int) float64 { return loss(b.row(i), b.labels[i]) })
	return nil
}

// Perplexity is the exponential of the cross entropy: the number of equally likely classes with that
// uncertainty. As in Keras' language models, weights of 0 exclude padding.
type Perplexity struct{ CrossEntropy }

// NewPerplexity returns a Perplexity. Arguments are as for NewSparseCategoricalCrossentropy. Without examples the result is 1.
func NewPerplexity(fromLogits bool) *Perplexity {
	return &Perplexity{CrossEntropy{newRatio(fmt.Sprintf("perplexity(from_logits=%v)", fromLogits)), fromLogits}}
}

// Result implements Accumulator.
func (m *Perplexity) Result() Value { return scalar(math.Exp(divNoNaN(m.sums[0], m.sums[1]))) }

// probabilityLoss returns -log of the label's share of the clipped probabilities.
func probabilityLoss(row []float64, label int64) float64 {
	sum := 0.0
	for _, p := range row {
		sum += clip(p)
	}
	return math.Log(sum) - math.Log(clip(row[label]))
}

// logitLoss returns -log softmax(row)[label], shifted by the maximum so that it cannot overflow.
func logitLoss(row []float64, label int64) float64 {
	top := math.Inf(-1)
	for _, z := range row {
		top = math.Max(top, z)
	}
	sum := 0.0
	for _, z := range row {
		sum += math.Exp(z - top)
	}
	return math.Log(sum) + top - row[label]
}

// TopK is the weighted share of examples whose label is among the k classes with
// the highest scores (tf.keras.metrics.SparseTopKCategoricalAccuracy).
type TopK struct {
	ratio
	k int
}

// NewTopK returns a TopK; k must be at least 1. Ties count as in tf.math.in_top_k:
// every class that ties with the k-th is in, and an example with a score that is
// not finite is out. Update takes class ids [B...], scores [B..., classes][,
// weights].
func NewTopK(k int) (*TopK, error) {
	if k < 1 {
		return nil, fmt.Errorf("top_k: %w: expected k >= 1, got %d", ErrParameter, k)
	}
	return &TopK{newRatio(fmt.Sprintf("top_k(k=%d)", k)), k}, nil
}

// Update implements Accumulator.
func (m *TopK) Update(ts ...*tensor.Tensor) error {
	b, err := scoreArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	m.fold(len(b.labels), b.weights, func(i int) float64 { return oneIf(inTopK(b.row(i), b.labels[i], m.k)) })
	return nil
}

// inTopK reports whether fewer than k classes have a higher score than the label.
func inTopK(row []float64, label int64, k int) bool {
	higher := 0
	for _, s := range row {
		if math.IsNaN(s) || math.IsInf(s, 0) {
			return false
		}
		if s > row[label] {
			higher++
		}
	}
	return higher < k
}

// scores is one batch of class ids and rows of class scores.
type scores struct {
	labels  []int64
	values  []float64
	classes int
	weights weighting
}

func (b scores) row(i int) []float64 { return b.values[i*b.classes : (i+1)*b.classes] }

// scoreArgs reads the arguments class ids [B...], scores [B..., classes][, weights].
func scoreArgs(ts []*tensor.Tensor) (scores, error) {
	a, classes, err := classArgs(ts)
	if err != nil {
		return scores{}, err
	}
	labels, err := classIDs("labels", a.labels, classes)
	if err != nil {
		return scores{}, err
	}
	values, err := numbers[float64]("predictions", a.predictions)
	if err != nil {
		return scores{}, err
	}
	return scores{labels: labels, values: values, classes: classes, weights: a.weights}, nil
}
