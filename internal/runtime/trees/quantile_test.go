package trees

import (
	"math"
	"testing"
)

// TestQuantile: a number's rank is wrong by at most the sketch's error, and exact for few numbers.
func TestQuantile(t *testing.T) {
	few := NewSketch(0.001)
	few.Push([]float32{5, 1, 3, 2, 4, float32(math.NaN())}, 1, nil)
	for q, want := range map[float64]float64{0: 1, 0.2: 1, 0.5: 3, 0.8: 4, 1: 5} {
		if got := few.Quantile(q); got != want {
			t.Errorf("quantile %v of 1 to 5: %v, expected %v", q, got, want)
		}
	}
	const n = 300_000
	many := NewSketch(0.001)
	for i := range n {
		many.Push([]float32{float32(i * 7919 % n)}, 1, nil)
	}
	for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.75, 0.99, 1} {
		if got := many.Quantile(q) / n; math.Abs(got-q) > 0.001 {
			t.Errorf("quantile %v: rank %v", q, got)
		}
	}
	if got := NewSketch(0.1).Quantile(0.5); !math.IsNaN(got) {
		t.Errorf("quantile of nothing: %v", got)
	}
}
