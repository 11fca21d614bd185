package testkit

import "math"

// Near reports whether got is want within a tolerance: they are equal, both are NaN, or they are finite and differ by no more. An
// infinity is only near itself, even if the tolerance, being relative to it, is infinite.
func Near(got, want, tolerance float64) bool {
	return got == want || math.IsNaN(got) && math.IsNaN(want) || !math.IsInf(want, 0) && math.Abs(got-want) <= tolerance
}
