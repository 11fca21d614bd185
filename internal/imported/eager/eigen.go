package eager

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// eigen computes eigenvalues of symmetric and Hermitian matrices, in ascending order, and optionally eigenvectors. It reads the lower
// triangles. Signs or phases of vectors, and vectors of equal eigenvalues, are not determined, and may differ from TensorFlow's.
func eigen(s *site) (kernel, error) {
	vectors := s.boolean("compute_v", true)
	return inexact(eigenEach[float32, float64](vectors), eigenEach[float64, float64](vectors), eigenEach[complex64, complex128](vectors), eigenEach[complex128, complex128](vectors)), nil
}

func eigenEach[T inexactNumber, W kernels.Field](vectors bool) kernel {
	return func(c call) error {
		shape := c.t(0).Shape
		values, err := outputOf[T](c, 0, shape[:max(len(shape)-1, 0)]...)
		if err != nil {
			return err
		}
		var v []T
		if vectors {
			v, err = outputOf[T](c, 1, shape...)
		} else {
			_, err = c.output(1, c.t(0).DType)
		}
		if err != nil {
			return err
		}
		return eachSquare[T](c, func(i int, m kernels.Matrix[W]) error {
			makeHermitian(m)
			exponent, finite := scaleDown(m.A)
			if !finite {
				return errNoEigen
			}
			turned := jacobi(m)
			order := make([]int, m.N)
			for k := range order {
				order[k] = k
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(kernels.Real(*m.At(a, a)), kernels.Real(*m.At(b, b))) })
			sorted := make([]W, m.N*m.N)
			for k, from := range order {
				narrowTo(values[i*m.N+k:][:1], []float64{math.Ldexp(kernels.Real(*m.At(from, from)), exponent)})
				for row := 0; vectors && row < m.N; row++ {
					sorted[row*m.N+k] = *turned.At(row, from)
				}
			}
			if vectors {
				narrowTo(v[i*m.N*m.N:(i+1)*m.N*m.N], sorted)
			}
			return nil
		})
	}
}

var errNoEigen = errors.New("Self-adjoint eigen decomposition was not successful. The input might not be valid.")

// makeHermitian makes a matrix symmetric, or Hermitian, from its lower triangle.
func makeHermitian[W kernels.Field](m kernels.Matrix[W]) {
	for i := range m.N {
		for j := range i {
			*m.At(j, i) = kernels.Conj(*m.At(i, j))
		}
		*m.At(i, i) = kernels.FromReal[W](kernels.Real(*m.At(i, i)))
	}
}

// sweeps bounds the sweeps of Jacobi's method over all elements: it converges quadratically.
const sweeps = 64

// jacobi diagonalizes a symmetric or Hermitian matrix by rotations, and returns their product.
func jacobi[W kernels.Field](m kernels.Matrix[W]) kernels.Matrix[W] {
	v := m.Zeros()
	for i := range m.N {
		*v.At(i, i) = 1
	}
	for range sweeps {
		off, all := 0.0, 0.0
		for k, x := range m.A {
			square := kernels.Real(x * kernels.Conj(x))
			all += square
			if k/m.N != k%m.N {
				off += square
			}
		}
		if !(off > 1e-30*all) || m.Ended() {
			break
		}
		for p := 0; p < m.N && !m.Ended(); p++ {
			for q := p + 1; q < m.N; q++ {
				rotate(m, v, p, q)
			}
		}
	}
	return v
}

// rotate makes element (p, q) zero.
func rotate[W kernels.Field](m, v kernels.Matrix[W], p, q int) {
	j, ok := jacobiRotation(kernels.Real(*m.At(p, p)), kernels.Real(*m.At(q, q)), *m.At(p, q))
	if !ok {
		return
	}
	for k := range m.N {
		j.turn(m.At(k, p), m.At(k, q))
	}
	rows := rotation[W]{j.c, kernels.Conj(j.s)}
	for k := range m.N {
		rows.turn(m.At(p, k), m.At(q, k))
	}
	for k := range m.N {
		j.turn(v.At(k, p), v.At(k, q))
	}
}

// rotation maps (x, y) to (c·x - s̄·y, s·x + c·y).
type rotation[W kernels.Field] struct{ c, s W }

func (r rotation[W]) turn(x, y *W) {
	*x, *y = r.c**x-kernels.Conj(r.s)**y, r.s**x+r.c**y
}

// jacobiRotation returns the rotation of columns that diagonalizes the Hermitian matrix [pp, pq; p̄q, qq]; false if it is diagonal.
func jacobiRotation[W kernels.Field](pp, qq float64, pq W) (r rotation[W], ok bool) {
	size := kernels.Magnitude(pq)
	if size == 0 {
		return r, false
	}
	theta := (qq - pp) / (2 * size)
	t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	c := 1 / math.Sqrt(t*t+1)
	return rotation[W]{kernels.FromReal[W](c), kernels.FromReal[W](t*c) * (pq / kernels.FromReal[W](size))}, true
}
