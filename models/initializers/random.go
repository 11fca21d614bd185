package initializers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// RandomUniform draws from [Min, Max).
type RandomUniform struct{ Min, Max float64 }

// Init fills t, of a float type.
func (r RandomUniform) Init(t *tensor.Tensor, key uint64) error { return r.InitRows(t, whole(t), key) }

// InitRows fills rows of a tensor.
func (r RandomUniform) InitRows(t *tensor.Tensor, rows Rows, key uint64) error {
	if !(r.Min <= r.Max) {
		return fmt.Errorf("random_uniform initializer: min %g, max %g: expected min <= max", r.Min, r.Max)
	}
	return draw(place{t, key, rows.offset()}, uniform, r.Max-r.Min, r.Min)
}

// RandomNormal draws from a normal distribution.
type RandomNormal struct{ Mean, Stddev float64 }

// Init fills t, of a float type.
func (r RandomNormal) Init(t *tensor.Tensor, key uint64) error { return r.InitRows(t, whole(t), key) }

// InitRows fills rows of a tensor.
func (r RandomNormal) InitRows(t *tensor.Tensor, rows Rows, key uint64) error {
	return draw(place{t, key, rows.offset()}, normal, r.Stddev, r.Mean)
}

// TruncatedNormal draws from a normal distribution; values two or more standard
// deviations from the mean are drawn again.
type TruncatedNormal struct{ Mean, Stddev float64 }

// Init fills t, of a float type.
func (r TruncatedNormal) Init(t *tensor.Tensor, key uint64) error {
	return r.InitRows(t, whole(t), key)
}

// InitRows fills rows of a tensor.
func (r TruncatedNormal) InitRows(t *tensor.Tensor, rows Rows, key uint64) error {
	return draw(place{t, key, rows.offset()}, truncated, r.Stddev, r.Mean)
}

type distribution int

const (
	uniform distribution = iota
	normal
	truncated
)

// place is a range to fill with the elements of a stream of random numbers, from first on.
type place struct {
	t     *tensor.Tensor
	key   uint64
	first int
}

// draw fills p with shift + scale * x, x from the standard form of a distribution.
func draw(p place, d distribution, scale, shift float64) error {
	switch p.t.DType {
	case tensor.Float32:
		drawAs[float32](p, d, scale, shift)
	case tensor.Float64:
		drawAs[float64](p, d, scale, shift)
	default:
		return errFloat(p.t)
	}
	return nil
}

func drawAs[T kernels.Float](p place, d distribution, scale, shift float64) {
	data := tensor.Values[T](p.t)
	// Numbers come in groups of 16 bytes with one counter each. As in TensorFlow, a
	// truncated normal's group reserves 256 counters for float32 and 128 for float64.
	width := 16 / p.t.DType.Size()
	group, skip := uint64(p.first/width), p.first%width
	if d == truncated {
		group *= 64 * uint64(width)
	}
	r := kernels.Rand{Key: p.key, Counter: [2]uint64{group}}
	if skip == 0 {
		fillStandard(data, d, r)
	} else { // the group of the first elements begins earlier
		all := make([]T, skip+len(data))
		fillStandard(all, d, r)
		copy(data, all[skip:])
	}
	a, b := T(scale), T(shift)
	for i, x := range data {
		data[i] = a*x + b
	}
}

func fillStandard[T kernels.Float](data []T, d distribution, r kernels.Rand) {
	switch d {
	case uniform:
		kernels.Uniform(data, r)
	case normal:
		kernels.Normal(data, r)
	case truncated:
		kernels.TruncatedNormal(data, r)
	}
}

func errFloat(t *tensor.Tensor) error {
	return fmt.Errorf("random initializer: type %v: expected float32 or float64", t.DType)
}

// store copies m into t, of a float type.
func store(t *tensor.Tensor, m []float64) error {
	switch t.DType {
	case tensor.Float32:
		for i := range tensor.Values[float32](t) {
			tensor.Values[float32](t)[i] = float32(m[i])
		}
	case tensor.Float64:
		copy(tensor.Values[float64](t), m)
	default:
		return errFloat(t)
	}
	return nil
}
