package eager

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// TestSingularVectors: the vectors are orthonormal, and their product is the matrix, for any signs and shapes; also without full
// rank, and with vectors beyond the rank.
func TestSingularVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 1}, {3, 3}, {7, 2}, {2, 7}, {20, 20}, {5, 4}} {
		for rank := range min(size[0], size[1]) + 1 {
			for _, full := range []bool{false, true} {
				m, n := size[0], size[1]
				a := make([]float64, m*n)
				for range rank {
					left, right := make([]float64, m), make([]float64, n)
					for i := range left {
						left[i] = rng.NormFloat64()
					}
					for i := range right {
						right[i] = rng.NormFloat64()
					}
					for i := range a {
						a[i] += left[i/n] * right[i%n]
					}
				}
				if err := checkSingular(t, a, m, n, full); err != nil {
					t.Errorf("%v of rank %d, full %v: %v", size, rank, full, err)
				}
			}
		}
	}
}

// TestSingularScales: also if squares exceed the range of a float64, or rounding decides the rank, vectors are orthonormal and their
// product is the matrix.
func TestSingularScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const m, n = 6, 4
	for _, scale := range []float64{1e300, 1e200, 1e100, 1e-100, 1e-200, 1e-300} {
		for _, least := range []float64{1, 1e-8, 3e-16, 0} {
			a := make([]float64, m*n)
			for i := range a {
				a[i] = rng.NormFloat64()
				if i%n == n-1 { // the last column is nearly the sum of the others
					a[i] = a[i-1] + a[i-2] + a[i-3] + least*rng.NormFloat64()
				}
			}
			for i := range a {
				a[i] *= scale
			}
			for _, full := range []bool{false, true} {
				if err := checkSingular(t, a, m, n, full); err != nil {
					t.Errorf("times %g, apart by %g: %v", scale, least, err)
				}
			}
		}
	}
}

// TestNoVectors: vectors that are not requested are scalars, as in TensorFlow.
func TestNoVectors(t *testing.T) {
	s := newSession(t)
	for op, attrs := range map[string]graph.Attrs{"Svd": {"compute_uv": false}, "Eig": {"compute_v": false, "Tout": tensor.Complex128}, "SelfAdjointEigV2": {"compute_v": false}} {
		out, err := s.try(op, attrs, tensorOf([]float64{2, 1, 1, 3}, 2, 2))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range out[1:] {
			if len(v.T.Shape) != 0 {
				t.Errorf("%s: output %d has shape %v, expected a scalar", op, i+1, v.T.Shape)
			}
		}
	}
}

// checkSingular decomposes a matrix and multiplies the results.
func checkSingular(t *testing.T, a []float64, m, n int, full bool) error {
	x, err := tensor.FromSlice(a, m, n)
	if err != nil {
		return err
	}
	out, err := Run(t.Context(), &graph.Node{Name: "svd", Op: "Svd", Attrs: graph.Attrs{"compute_uv": true, "full_matrices": full}}, []Value{{T: x}}, nil)
	if err != nil {
		return err
	}
	s, u, v := tensor.Values[float64](out[0].T), out[1].T, out[2].T
	if !slices.IsSortedFunc(s, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		return fmt.Errorf("values %v are not in order", s)
	}
	for _, side := range []*tensor.Tensor{u, v} {
		if err := orthonormal(side); err != nil {
			return err
		}
	}
	left, right := tensor.Values[float64](u), tensor.Values[float64](v)
	largest := 1e-300
	for _, x := range a {
		largest = max(largest, math.Abs(x))
	}
	for i := range m {
		for j := range n {
			sum := 0.0
			for k := range s {
				sum += left[i*u.Shape[1]+k] * s[k] * right[j*v.Shape[1]+k]
			}
			if !(math.Abs(sum-a[i*n+j]) <= 1e-13*largest) {
				return fmt.Errorf("element %d, %d: got %v, expected %v", i, j, sum, a[i*n+j])
			}
		}
	}
	return nil
}

// orthonormal fails unless the columns of a matrix have length 1 and are orthogonal.
func orthonormal(x *tensor.Tensor) error {
	v, n := tensor.Values[float64](x), x.Shape[1]
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range x.Shape[0] {
				sum += v[k*n+i] * v[k*n+j]
			}
			if i == j {
				sum--
			}
			if math.Abs(sum) > 1e-12 {
				return fmt.Errorf("columns %d and %d: off by %v", i, j, sum)
			}
		}
	}
	return nil
}
