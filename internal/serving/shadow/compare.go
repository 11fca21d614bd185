package shadow

import (
	"bytes"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/convert"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/tensor"
)

// compare returns the largest difference between the numbers of two answers, relative to the larger of the two numbers, or to 1 if that is
// larger. It is infinite if anything else differs: names, types, shapes, strings, a NaN or an infinity.
func compare(a, b inference.Answer) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	largest := 0.0
	for name, x := range a {
		y := b[name]
		if y == nil || x.DType != y.DType || !slices.Equal(x.Shape, y.Shape) || len(x.Bytes) != len(y.Bytes) {
			return math.Inf(1)
		}
		largest = max(largest, difference(x, y))
	}
	return largest
}

// difference compares two tensors of one type and shape.
func difference(x, y *tensor.Tensor) float64 {
	same := slices.EqualFunc(x.Strings, y.Strings, bytes.Equal)
	if x.DType == tensor.String || !same {
		return distance(same)
	}
	if bytes.Equal(x.Bytes, y.Bytes) {
		return 0
	}
	a, b := numbers(x), numbers(y)
	if a == nil || len(a) != len(b) {
		return math.Inf(1)
	}
	largest := 0.0
	for i, v := range a {
		largest = max(largest, relative(v, b[i]))
	}
	return largest
}

// numbers are the elements of a tensor; a complex element counts as two numbers.
func numbers(t *tensor.Tensor) []float64 {
	from, src := t.DType, t.Bytes
	switch from {
	case tensor.Complex64:
		from = tensor.Float32
	case tensor.Complex128:
		from = tensor.Float64
	case tensor.Float16, tensor.BFloat16:
		wide := make([]byte, 2*len(src))
		convert.Between(from, tensor.Float32)(wide, src)
		from, src = tensor.Float32, wide
	}
	f := convert.Between(from, tensor.Float64)
	if f == nil {
		return nil
	}
	out := tensor.New(tensor.Float64, len(src)/from.Size())
	f(out.Bytes, src)
	return tensor.Values[float64](out)
}

// relative is the relative difference of two numbers; two NaNs, and two equal infinities, do not differ.
func relative(a, b float64) float64 {
	switch {
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a-b) || math.IsInf(a-b, 0):
		return math.Inf(1)
	}
	return math.Abs(a-b) / max(1, math.Abs(a), math.Abs(b))
}

func distance(same bool) float64 {
	if same {
		return 0
	}
	return math.Inf(1)
}
