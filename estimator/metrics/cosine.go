package metrics

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// CosineSimilarity is the weighted mean of the cosines of the angles between labels and predictions
// (tf.keras.metrics.CosineSimilarity).
type CosineSimilarity struct{ ratio }

// NewCosineSimilarity returns a CosineSimilarity. Update takes labels, predictions[, weights]: vectors along the
// last dimension, [batch..., dimension]; [batch] has vectors of one number. The cosine with a zero vector is 0.
func NewCosineSimilarity() *CosineSimilarity { return &CosineSimilarity{newRatio("cosine_similarity")} }

// shortest is the square of the least length that tf.math.l2_normalize divides by.
const shortest = 1e-12

// Update implements Accumulator.
func (m *CosineSimilarity) Update(ts ...*tensor.Tensor) error {
	a, weights, err := splitArgs(ts)
	if err == nil && !sameShape(a.labels.Shape, a.predictions.Shape) {
		err = fmt.Errorf("expected labels and predictions of one shape, got labels %v and predictions %v", a.labels.Shape, a.predictions.Shape)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	rows, size := vectors(a.predictions.Shape)
	if a.weights, err = newWeighting(weights, rows); err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	labels, err := numbers[float64]("labels", a.labels)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	predictions, err := numbers[float64]("predictions", a.predictions)
	if err != nil {
		return fmt.Errorf("%s: %w", m.kind, err)
	}
	m.fold(tensor.NumElements(rows), a.weights, func(i int) float64 {
		return cosine(labels[i*size:(i+1)*size], predictions[i*size:(i+1)*size])
	})
	return nil
}

// vectors splits a shape into the shape of the examples and the size of each.
func vectors(shape []int) (rows []int, size int) {
	if len(shape) < 2 {
		return shape, 1
	}
	last := len(shape) - 1
	return shape[:last], shape[last]
}

func cosine(x, y []float64) float64 {
	var xy, xx, yy float64
	for i := range x {
		xy, xx, yy = xy+x[i]*y[i], xx+x[i]*x[i], yy+y[i]*y[i]
	}
	return xy / math.Sqrt(math.Max(xx, shortest)) / math.Sqrt(math.Max(yy, shortest))
}
