package testkit_test

import (
	"math"
	"testing"

	"github.com/goestimator/goestimator/internal/testkit"
)

func TestNear(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		got, want, tolerance float64
		near                 bool
	}{
		{1, 1.5, 0.5, true}, {1, 1.6, 0.5, false}, {0, math.Copysign(0, -1), 0, true}, {nan, nan, 0, true}, {nan, 1, 9, false}, {1, nan, 9, false},
		{inf, inf, 0, true}, {-inf, -inf, inf, true}, {inf, -inf, inf, false}, {1, inf, inf, false}, {nan, inf, inf, false}, {inf, 1, 9, false},
	} {
		if testkit.Near(c.got, c.want, c.tolerance) != c.near {
			t.Errorf("Near(%v, %v, %v) is %v", c.got, c.want, c.tolerance, !c.near)
		}
	}
}
