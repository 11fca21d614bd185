package initializers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// RandomUniform draws from [Min, Max).
type RandomUniform struct{ Min, Max float64 }

// Init fills t, of a float type.
func (r RandomUniform) Init(t *graph.Tensor, key uint64) error { return r.InitRows(t, whole(t), key) }

// InitRows fills rows of a tensor.
func (r RandomUniform) InitRows(t *graph.Tensor, rows Rows, key uint64) error {
	if !(r.Min <= r.Max) {
		return fmt.Errorf("random_uniform initializer: min %g, max %g: expected min <= max", r.Min, r.Max)
	}
	return draw(place{t, key, rows.offset()}, uniform, r.Max-r.Min, r.Min)
}

// RandomNormal draws from a normal distribution.
type RandomNormal struct{ Mean, Stddev float64 }

// Init fills t, of a float type.
func (r RandomNormal) Init(t *graph.Tensor, key uint64) error { return r.InitRows(t, whole(t), key) }

// InitRows fills rows of a tensor.
func (r RandomNormal) InitRows(t *graph.Tensor, rows Rows, key uint64) error {
	return draw(place{t, key, rows.offset()}, normal, r.Stddev, r.Mean)
}

// TruncatedNormal draws from a normal distribution; what lies two or more
// standard deviations from the mean is drawn again.
type TruncatedNormal struct{ Mean, Stddev float64 }

// Init fills t, of a float type.
func (r TruncatedNormal) Init(t *graph.Tensor, key uint64) error { return r.InitRows(t, whole(t), key) }

// InitRows fills rows of a tensor.
func (r TruncatedNormal) InitRows(t *graph.Tensor, rows Rows, key uint64) error {
	return draw(place{t, key, rows.offset()}, truncated, r.Stddev, r.Mean)
}

type distribution int

const (
	uniform distribution = iota
	normal
	truncated
)

// place is what to fill: elements of a stream of random numbers from first on.
type place struct {
	t     *graph.Tensor
	key   uint64
	first int
}

// draw fills p with shift + scale * x, x from the standard form of a distribution.
func draw(p place, d distribution, scale, shift float64) error {
	switch p.t.DType {
	case graph.Float32:
		drawAs[float32](p, d, scale, shift)
	case graph.Float64:
		drawAs[float64](p, d, scale, shift)
	default:
		return errFloat(p.t)
	}
	return nil
}

func drawAs[T kernels.Float](p place, d distribution, scale, shift float64) {
	data := graph.Of[T](p.t)
	// Numbers come in groups of 16 bytes, one counter each; a truncated normal's
	// group has room for 256 counters of float32, 128 of float64 (TensorFlow's).
	width := 16 / p.t.DType.Size()
	group, skip := uint64(p.first/width), p.first%width
	if d == truncated {
		group *= 64 * uint64(width)
	}
	r := kernels.Rand{Key: p.key, Counter: [2]uint64{group}}
	if skip == 0 {
		fillStandard(data, d, r)
	} else { // the first elements belong to a group that begins earlier
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

func errFloat(t *graph.Tensor) error {
	return fmt.Errorf("random initializer: type %v: expected float32 or float64", t.DType)
}

// store copies m into t, of a float type.
func store(t *graph.Tensor, m []float64) error {
	switch t.DType {
	case graph.Float32:
		for i := range graph.Of[float32](t) {
			graph.Of[float32](t)[i] = float32(m[i])
		}
	case graph.Float64:
		copy(graph.Of[float64](t), m)
	default:
		return errFloat(t)
	}
	return nil
}
