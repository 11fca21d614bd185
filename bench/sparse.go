package main

import (
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/tensor"
)

// sparseReference trains the sparse linear model in float64 by its definition,
// from the weights that give draws, and returns the losses of
// the first steps.
func sparseReference(dir string) (map[string][]float64, error) {
	w := workloads["sparse_linear"]
	r := rand.New(rand.NewPCG(1, 2))
	x, y := w.draw(r)
	table := newWeight(r, "embedding/embeddings", []int{sparseRows, 1})
	bias := newWeight(r, "bias", []int{1})
	m := newLogistic(tensor.Values[float32](table), tensor.Values[float32](bias)[0])
	ids, labels := tensor.Values[int64](x), tensor.Values[int64](y)
	var losses []float64
	for s := range checkedSteps {
		b := s % w.batches * w.batch
		losses = append(losses, m.step(ids[b*sparseIDs:(b+w.batch)*sparseIDs], labels[b:b+w.batch]))
	}
	return map[string][]float64{"": losses}, nil
}

// logistic is a logistic regression with Adagrad: rate 0.1, accumulators from 0.1.
type logistic struct {
	w, sums []float64 // one row of the table each; the last is the bias
}

func newLogistic(table []float32, bias float32) *logistic {
	m := &logistic{make([]float64, len(table)+1), make([]float64, len(table)+1)}
	for i := range m.w {
		m.sums[i] = 0.1
	}
	for i, v := range table {
		m.w[i] = float64(v)
	}
	m.w[len(table)] = float64(bias)
	return m
}

// step trains on one batch and returns the loss before the update.
func (m *logistic) step(ids, labels []int64) float64 {
	grads := map[int64]float64{}
	bias, loss := int64(len(m.w)-1), 0.0
	for i, label := range labels {
		row := ids[i*sparseIDs : (i+1)*sparseIDs]
		z := m.w[bias]
		for _, id := range row {
			z += m.w[id]
		}
		loss += math.Max(z, 0) - z*float64(label) + math.Log1p(math.Exp(-math.Abs(z)))
		g := (1/(1+math.Exp(-z)) - float64(label)) / float64(len(labels))
		grads[bias] += g
		for _, id := range row {
			grads[id] += g
		}
	}
	for id, g := range grads {
		m.sums[id] += g * g
		m.w[id] -= 0.1 * g / math.Sqrt(m.sums[id])
	}
	return loss / float64(len(labels))
}
