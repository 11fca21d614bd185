package heads_test

import (
	"context"
	"math"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs"
)

// checkGradient trains one step with rate 1 from weights that are the identity. It
// checks the change of the weights, which is inputs' · gradient of the logits.
func (k goldenCase) checkGradient(t *testing.T) {
	t.Helper()
	e := k.estimator(t, nil)
	ctx := context.Background()
	if _, err := e.Train(ctx, batchesOf(7, k.columns(t, 0, 1)...), estimator.Steps(1)); err != nil {
		t.Fatal(err)
	}
	n := len(k.Logits[0][0])
	unit := make([][]float32, n)
	for i := range unit {
		unit[i] = make([]float32, n)
		unit[i][i] = 1
	}
	columns := []inputs.NamedTensor{flat("logits", inputs.Feature, unit)}
	if k.Weights != nil {
		each := len(k.Weights[0][0])
		columns = append(columns, inputs.Slice("w", inputs.Feature, make([]float32, n*each), each))
	}
	row := 0
	for p, err := range e.Predict(ctx, batchesOf(7, columns...)) {
		if err != nil {
			t.Fatal(err)
		}
		for j, moved := range logitsOf(p) {
			want, scale := float64(unit[row][j]), 1.0
			for i, x := range k.Logits[0] {
				want -= float64(x[row]) * k.Gradient[i][j]
				scale += math.Abs(float64(x[row]) * k.Gradient[i][j])
			}
			if math.Abs(moved-want) > 1e-6*scale {
				t.Errorf("weight %d,%d is %.9g after a step, expected %.9g", row, j, moved, want)
			}
		}
		row++
	}
}

// logitsOf returns the logits among predictions; of several heads, all in order.
func logitsOf(p estimator.Prediction) []float64 {
	var out []float64
	for _, keys := range [][]string{{"logits", "predictions"}, {"kind/logits"}, {"size/predictions"}, {"sold/logits"}} {
		for _, key := range keys {
			if x := p.Get(key); x != nil {
				for i := range x.Len() {
					out = append(out, x.Float(i))
				}
				break
			}
		}
	}
	return out
}
