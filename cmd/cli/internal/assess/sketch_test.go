package assess

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// pairs is the area under the curve by its definition: the share of pairs in the right order, where ties count half.
func pairs(scores []float64, positive []bool) float64 {
	won, all := 0.0, 0.0
	for i, a := range scores {
		for j, b := range scores {
			if positive[i] && !positive[j] {
				all++
				won += indicator(a > b) + indicator(a == b)/2
			}
		}
	}
	return per(won, all)
}

// With few different scores a sketch is exact. With many it merges neighbours: no weight is lost, and the area changes little.
func TestSketch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 300).Draw(t, "scores")
		positive := rapid.SliceOfN(rapid.Bool(), len(scores), len(scores)).Draw(t, "positive")
		if rapid.Bool().Draw(t, "few") {
			for i := range scores {
				scores[i] = math.Round(scores[i] * 30)
			}
		}
		s := sketch{most: 64}
		distinct := map[float64]bool{}
		for i, x := range scores {
			s.add(x, indicator(positive[i]), 1-indicator(positive[i]))
			distinct[x] = true
		}
		points := s.sorted()
		c := newCurves("c", points)
		if got := float64(c.Positives + c.Negatives); got != float64(len(scores)) || len(points) > 2*s.most {
			t.Fatalf("%d points of the weight %g, expected %d", len(points), got, len(scores))
		}
		want, allowed := pairs(scores, positive), 1e-9
		if len(distinct) > s.most {
			allowed = 0.1
		} else if c.Within != 0 {
			t.Fatalf("%d scores: within %g, expected 0", len(distinct), float64(c.Within))
		}
		if d := math.Abs(float64(c.ROCAUC) - want); d > allowed || math.IsNaN(want) == c.ROCAUC.Finite() {
			t.Fatalf("area %g, expected %g", float64(c.ROCAUC), want)
		}
	})
}

// A thinned curve keeps its ends and its jumps.
func TestThinned(t *testing.T) {
	c := thinned{}
	for i := range 10001 {
		c.add(float64(i)/10000, indicator(i > 5000))
	}
	got := c.all()
	if len(got) > 600 || got[0] != [2]float64{0, 0} || got[len(got)-1] != [2]float64{1, 1} {
		t.Errorf("%d points from %v to %v", len(got), got[0], got[len(got)-1])
	}
	for i, p := range got[1:] {
		if p[1] != got[i][1] && p[0]-got[i][0] > 1e-4+1e-12 {
			t.Errorf("the jump goes from %v to %v", got[i], p)
		}
	}
}
