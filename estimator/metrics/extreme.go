package metrics

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// extreme is the least or the greatest value seen.
type extreme struct{ state }

// Min is the least value seen; values of weight 0 do not count.
type Min struct{ extreme }

// Max is the greatest value seen; values of weight 0 do not count.
type Max struct{ extreme }

// NewMin returns a Min. Update takes values[, weights]. The result over nothing, or
// over anything that holds a NaN, is NaN.
func NewMin() *Min { return &Min{newExtreme("min", math.Inf(1), lesser)} }

// NewMax returns a Max. Update takes values[, weights]. The result over nothing, or
// over anything that holds a NaN, is NaN.
func NewMax() *Max { return &Max{newExtreme("max", math.Inf(-1), greater)} }

// newExtreme returns a state that join computes, starting with its identity. The second
// value, joined in the same way, tells whether anything was seen.
func newExtreme(kind string, identity float64, join func(a, b float64) float64) extreme {
	return extreme{state{kind: kind, sums: []float64{identity, identity}, init: identity, join: join}}
}

// Update implements Accumulator.
func (e *extreme) Update(ts ...*tensor.Tensor) error {
	vs, w, err := valueArgs(ts)
	if err != nil {
		return fmt.Errorf("%s: %w", e.kind, err)
	}
	for i, v := range vs {
		if w.at(i) != 0 {
			e.sums[0], e.sums[1] = e.join(e.sums[0], v), 0
		}
	}
	return nil
}

// Result implements Accumulator.
func (e *extreme) Result() Value {
	if e.sums[1] != 0 {
		return scalar(math.NaN())
	}
	return scalar(e.sums[0])
}

// The built-in min and max, unlike math.Min and math.Max, let NaN win over infinity.
func lesser(a, b float64) float64  { return min(a, b) }
func greater(a, b float64) float64 { return max(a, b) }
