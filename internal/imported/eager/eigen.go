package eager

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// eigen finds eigenvalues of symmetric matrices, the smallest first, and eigenvectors where asked. It reads the lower triangles.
// The sign of a vector, and vectors of equal values, are not determined: they may be others than TensorFlow's.
func eigen(s *site) (kernel, error) {
	vectors := s.boolean("compute_v", true)
	return floats(eigenEach[float32](vectors), eigenEach[float64](vectors)).on(0), nil
}

func eigenEach[T float](vectors bool) kernel {
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
		return eachSquare[T](c, func(i int, m square) error {
			symmetrize(m)
			exponent, finite := scaleDown(m.A)
			if !finite {
				return errNoEigen
			}
			turned := jacobi(m)
			order := make([]int, m.N)
			for k := range order {
				order[k] = k
			}
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(*m.At(a, a), *m.At(b, b)) })
			for k, from := range order {
				values[i*m.N+k] = T(math.Ldexp(*m.At(from, from), exponent))
				for row := 0; vectors && row < m.N; row++ {
					v[(i*m.N+row)*m.N+k] = T(*turned.At(row, from))
				}
			}
			return nil
		})
	}
}

var errNoEigen = errors.New("Self-adjoint eigen decomposition was not successful. The input might not be valid.")

// symmetrize makes a matrix symmetric by its lower triangle.
func symmetrize(m square) {
	for i := range m.N {
		for j := range i {
			*m.At(j, i) = *m.At(i, j)
		}
	}
}

// sweeps bounds how often Jacobi's method visits all elements: it converges quadratically.
const sweeps = 64

// jacobi makes a symmetric matrix diagonal by rotations, and returns their product.
func jacobi(m square) square {
	v := m.Zeros()
	for i := range m.N {
		*v.At(i, i) = 1
	}
	for range sweeps {
		off, all := 0.0, 0.0
		for k, x := range m.A {
			all += x * x
			if k/m.N != k%m.N {
				off += x * x
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
func rotate(m, v square, p, q int) {
	apq := *m.At(p, q)
	if apq == 0 {
		return
	}
	theta := (*m.At(q, q) - *m.At(p, p)) / (2 * apq)
	t := math.Copysign(1, theta) / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	mix := func(x, y *float64) { *x, *y = c**x-s**y, s**x+c**y }
	for k := range m.N {
		mix(m.At(k, p), m.At(k, q))
	}
	for k := range m.N {
		mix(m.At(p, k), m.At(q, k))
	}
	for k := range m.N {
		mix(v.At(k, p), v.At(k, q))
	}
}
