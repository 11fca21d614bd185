package initializers

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/kernels"
)

// RandomUniform draws from [Min, Max).
type RandomUniform struct{ Min, Max float64 }

// Init fills t, of a float type.
func (r RandomUniform) Init(t *graph.Tensor, key uint64) error {
	if !(r.Min <= r.Max) {
		return fmt.Errorf("random_uniform initializer: min %g, max %g: expected min <= max", r.Min, r.Max)
	}
	return draw(t, key, uniform, r.Max-r.Min, r.Min)
}

// RandomNormal draws from a normal distribution.
type RandomNormal struct{ Mean, Stddev float64 }

// Init fills t, of a float type.
func (r RandomNormal) Init(t *graph.Tensor, key uint64) error {
	return draw(t, key, normal, r.Stddev, r.Mean)
}

// TruncatedNormal draws from a normal distribution; what lies two or more
// standard deviations from the mean is drawn again.
type TruncatedNormal struct{ Mean, Stddev float64 }

// Init fills t, of a float type.
func (r TruncatedNormal) Init(t *graph.Tensor, key uint64) error {
	return draw(t, key, truncated, r.Stddev, r.Mean)
}

type distribution int

const (
	uniform distribution = iota
	normal
	truncated
)

// draw fills t with shift + scale * x, x from the standard form of a distribution.
func draw(t *graph.Tensor, key uint64, d distribution, scale, shift float64) error {
	switch t.DType {
	case graph.Float32:
		drawAs[float32](t, key, d, scale, shift)
	case graph.Float64:
		drawAs[float64](t, key, d, scale, shift)
	default:
		return errFloat(t)
	}
	return nil
}

func drawAs[T kernels.Float](t *graph.Tensor, key uint64, d distribution, scale, shift float64) {
	data := graph.Of[T](t)
	r := kernels.Rand{Key: key}
	switch d {
	case uniform:
		kernels.Uniform(data, r)
	case normal:
		kernels.Normal(data, r)
	case truncated:
		kernels.TruncatedNormal(data, r)
	}
	a, b := T(scale), T(shift)
	for i, x := range data {
		data[i] = a*x + b
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
