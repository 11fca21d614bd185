package edgecases

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/goestimator/goestimator/tensor"
)

// Style is a set of numbers that a case draws from.
type Style struct {
	Name       string
	Values     []float64 // of operands
	Cotangents []float64
}

// Finite reports whether no number is infinite or NaN.
func (s Style) Finite() bool {
	return !slices.ContainsFunc(slices.Concat(s.Values, s.Cotangents), func(v float64) bool { return v-v != 0 })
}

var zero, minus, inf, nan = 0.0, math.Copysign(0, -1), math.Inf(1), math.NaN()

// Ordinary reports whether no number is large but finite.
func (s Style) Ordinary() bool {
	return !slices.ContainsFunc(s.Values, func(v float64) bool { return v-v == 0 && math.Abs(v) >= 1000 })
}

// limits returns numbers of a float type: one near the smallest normal number, a denormal one, and one so large that its square
// is still finite and the square of its inverse normal.
func limits(d tensor.DType) (normal, denormal, largest float64) {
	if d == tensor.Float64 {
		return 0x1p-1020, 0x1p-1040, 0x1p500
	}
	return 0x1p-124, 0x1p-140, 0x1p60
}

// Denormal reports whether v is denormal in a float type, and returns the normal number of All with the same sign.
func Denormal(d tensor.DType, v float64) (bool, float64) {
	normal, denormal, _ := limits(d)
	return math.Abs(v) == denormal, math.Copysign(normal, v)
}

// All is the style for functions of one number: each value with each cotangent.
func All(d tensor.DType) Style {
	normal, denormal, largest := limits(d)
	return Style{Name: "all", Values: []float64{zero, minus, 1, -1, 0.5, -3, 6, normal, -normal, denormal, -denormal, largest, -largest, inf, -inf, nan},
		Cotangents: []float64{1, zero, minus, -2, inf, nan}}
}

// Pairs is the style for functions of two numbers: each pair with each cotangent. If a quotient or a power leaves the range, its
// gradient depends on the order of multiplication; so no number here is near the ends of the range.
func Pairs() Style {
	return Style{Name: "pairs", Values: []float64{zero, minus, 1, -1, 0.5, -3, 6, inf, -inf, nan}, Cotangents: []float64{1, zero, minus, -2, inf, nan}}
}

// Tiny is the style of denormal numbers. TensorFlow treats them as zeros; float64 holds the denormal numbers of float32 as normal ones.
const Tiny = "tiny"

// Styles are the styles for other computations: one at a time, so that a NaN does not hide ties.
func Styles(d tensor.DType) []Style {
	normal, denormal, _ := limits(d)
	usual := []float64{1, zero, -2, 0.5}
	if d == tensor.Float64 {
		denormal = normal / 2
	}
	return []Style{
		{"ties", []float64{zero, minus, 1, -1}, usual},
		{"equal", []float64{1}, usual},
		{"infinite", []float64{inf, -inf, zero, 1, -1, 0.5}, usual},
		{"below", []float64{-inf}, usual},
		{"nan", []float64{nan, zero, 1, -1, 0.5, 2, -3, 0.25}, usual},
		{Tiny, []float64{normal, -normal, denormal, -denormal, zero}, usual},
		{"large", []float64{1e30, 1000, zero}, []float64{1, zero, 0.5}},
		{"far below", []float64{-1e30, -1000, zero}, []float64{1, zero, 0.5}},
		{"cotangents", []float64{1, -1, 0.5, 2, -3}, []float64{zero, 1, inf, nan}},
	}
}

// Draw draws n numbers at random from a set.
func Draw(r *rand.Rand, n int, from []float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = from[r.IntN(len(from))]
	}
	return out
}

// Product returns a list for each set; together, the lists have each combination at one index.
func Product(sets ...[]float64) [][]float64 {
	total := 1
	for _, s := range sets {
		total *= len(s)
	}
	out := make([][]float64, len(sets))
	step := 1
	for k, s := range sets {
		for i := range total {
			out[k] = append(out[k], s[i/step%len(s)])
		}
		step *= len(s)
	}
	return out
}
