package initializers

import (
	"fmt"
	"math"

	"github.com/goestimator/goestimator/tensor"
)

// Orthogonal fills a tensor of rank 2 or more, as a matrix [..., last], with
// orthonormal columns (rows if the matrix is wide) times Gain (Saxe et al. 2013).
type Orthogonal struct{ Gain float64 }

// Init fills t, of a float type.
func (o Orthogonal) Init(t *tensor.Tensor, key uint64) error {
	if len(t.Shape) < 2 {
		return fmt.Errorf("orthogonal initializer: shape %v: expected rank 2 or more", t.Shape)
	}
	cols := t.Shape[len(t.Shape)-1]
	rows := t.Len() / cols
	long, short := max(rows, cols), min(rows, cols)
	// Vectors of length long, each contiguous.
	random := tensor.New(tensor.Float64, short, long)
	if err := draw(place{t: random, key: key}, normal, 1, 0); err != nil {
		return err
	}
	q := tensor.Values[float64](random)
	orthonormalize(q, short, long)
	for i := range q {
		q[i] *= o.Gain
	}
	if rows >= cols {
		q = transpose(q, short, long)
	}
	return store(t, q)
}

// orthonormalize is the Gram-Schmidt process on n vectors of length size. It projects
// each vector twice, which makes them orthogonal up to rounding ("twice is enough").
// The triangular factor has a positive diagonal, so the result is uniformly distributed.
func orthonormalize(q []float64, n, size int) {
	for i := range n {
		v := q[i*size : (i+1)*size]
		for range 2 {
			for j := range i {
				u := q[j*size : (j+1)*size]
				p := dot(u, v)
				for k := range v {
					v[k] -= p * u[k]
				}
			}
		}
		norm := math.Sqrt(dot(v, v))
		for k := range v {
			v[k] /= norm
		}
	}
}

func dot(x, y []float64) (s float64) {
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

func transpose(m []float64, rows, cols int) []float64 {
	out := make([]float64, len(m))
	for i := range rows {
		for j := range cols {
			out[j*rows+i] = m[i*cols+j]
		}
	}
	return out
}
