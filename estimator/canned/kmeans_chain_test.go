package canned

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestChainEnd: a chain moves to rows that are farther away, and never to a row that is
// already a center.
func TestChainEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if at := chainEnd([]float64{1, 2, 4, 0}, r); at != 2 {
			t.Fatalf("the chain ends at %d, expected the furthest row, 2", at)
		}
		if at := chainEnd([]float64{0, 3, 0}, r); at != 1 {
			t.Fatalf("the chain ends at %d, expected the only row that is no center, 1", at)
		}
	}
	// A long chain ends at each row as often as k-means++ would choose it.
	weights := []float64{1, 2, 3, 4}
	counts := make([]float64, len(weights))
	const chains, length = 4000, 50
	for range chains {
		rows, which := make([]float64, length), make([]int, length)
		for i := range rows {
			which[i] = r.IntN(len(weights))
			rows[i] = weights[which[i]]
		}
		counts[which[chainEnd(rows, r)]]++
	}
	for i, n := range counts {
		if got, want := n/chains, weights[i]/10; math.Abs(got-want) > 0.03 {
			t.Errorf("row %d is chosen %v of the time, expected %v", i, got, want)
		}
	}
}
