package eager

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// tridiagonalOps work on tridiagonal matrices, given by three diagonals of the main diagonal's length: the last element of the upper one
// and the first of the lower one have no meaning.
var tridiagonalOps = map[*ops.Def]maker{ops.TridiagonalMatMul: plain(floats(tridiagonalProduct[float32], tridiagonalProduct[float64]).on(0)), ops.TridiagonalSolve: tridiagonalSolve}

// tridiagonalProduct multiplies matrices, given by diagonals [..., 1, n], by matrices [..., n, columns].
func tridiagonalProduct[T float](c call) error {
	rhs := c.t(3)
	r := len(rhs.Shape) - 2
	if err := sameType(c.in); err != nil {
		return err
	}
	for i := range 3 {
		d := c.t(i)
		if r < 0 || len(d.Shape) != r+2 || d.Shape[r] != 1 || d.Shape[r+1] != rhs.Shape[r] || product(d.Shape[:r]) != product(rhs.Shape[:r]) {
			return fmt.Errorf("diagonals of shape %v for a right-hand side of shape %v: expected [..., 1, n] for [..., n, columns]", d.Shape, rhs.Shape)
		}
	}
	dst, err := outputOf[T](c, 0, rhs.Shape...)
	if err != nil || len(dst) == 0 {
		return err
	}
	n, columns := rhs.Shape[r], rhs.Shape[r+1]
	upper, main, lower, x := tensor.Values[T](c.t(0)), tensor.Values[T](c.t(1)), tensor.Values[T](c.t(2)), tensor.Values[T](rhs)
	for row := range len(main) {
		for k := range columns {
			sum := main[row] * x[row*columns+k]
			if row%n > 0 {
				sum += lower[row] * x[(row-1)*columns+k]
			}
			if row%n < n-1 {
				sum += upper[row] * x[(row+1)*columns+k]
			}
			dst[row*columns+k] = sum
		}
	}
	return nil
}

// errDegenerate is the error for a system without a solution, with TensorFlow's text.
var errDegenerate = errors.New("The matrix is not invertible.")

func tridiagonalSolve(s *site) (kernel, error) {
	if s.boolean("perturb_singular", false) {
		return nil, fmt.Errorf("perturb_singular %w", ErrUnsupported)
	}
	pivots := s.boolean("partial_pivoting", true)
	return floats(func(c call) error { return solveTridiagonal[float32](c, pivots) }, func(c call) error { return solveTridiagonal[float64](c, pivots) }).on(0), nil
}

// solveTridiagonal solves systems with diagonals [..., 3, n]: upper, main, lower.
func solveTridiagonal[T float](c call, pivots bool) error {
	d, rhs := c.t(0), c.t(1)
	r := len(rhs.Shape) - 2
	if err := sameType(c.in); err != nil {
		return err
	}
	if r < 0 || len(d.Shape) != r+2 || d.Shape[r] != 3 || d.Shape[r+1] != rhs.Shape[r] || product(d.Shape[:r]) != product(rhs.Shape[:r]) {
		return fmt.Errorf("diagonals of shape %v for a right-hand side of shape %v: expected [..., 3, n] for [..., n, columns]", d.Shape, rhs.Shape)
	}
	dst, err := outputOf[T](c, 0, rhs.Shape...)
	if err != nil || len(dst) == 0 {
		return err
	}
	n, columns := rhs.Shape[r], rhs.Shape[r+1]
	if err := c.room(4*n+n*columns, 8); err != nil {
		return err
	}
	src, b := tensor.Values[T](d), tensor.Values[T](rhs)
	for i := range product(rhs.Shape[:r]) {
		m := newThreeDiagonals(src[3*n*i:3*n*(i+1)], b[n*columns*i:n*columns*(i+1)], n)
		if err := m.eliminate(pivots); err != nil {
			return err
		}
		m.substitute()
		for k, v := range m.x {
			dst[n*columns*i+k] = T(v)
		}
	}
	return nil
}

// threeDiagonals are the rows of a system during elimination: row i has main[i], upper[i] and, once rows were exchanged, second[i] after it.
type threeDiagonals struct {
	lower, main, upper, second, x []float64
	n, columns                    int
}

func newThreeDiagonals[T float](d, b []T, n int) *threeDiagonals {
	wide := func(list []T) []float64 {
		out := make([]float64, len(list))
		for i, v := range list {
			out[i] = float64(v)
		}
		return out
	}
	m := &threeDiagonals{upper: wide(d[:n]), main: wide(d[n : 2*n]), lower: wide(d[2*n:]), second: make([]float64, n), x: wide(b), n: n, columns: len(b) / n}
	m.upper[n-1] = 0
	return m
}

// eliminate makes the system upper triangular.
func (m *threeDiagonals) eliminate(pivots bool) error {
	for i := range m.n - 1 {
		j := i + 1
		under := m.lower[j]
		if pivots && math.Abs(under) > math.Abs(m.main[i]) {
			m.main[i], under = under, m.main[i]
			m.upper[i], m.main[j] = m.main[j], m.upper[i]
			m.second[i], m.upper[j] = m.upper[j], m.second[i]
			for k := range m.columns {
				a, b := i*m.columns+k, j*m.columns+k
				m.x[a], m.x[b] = m.x[b], m.x[a]
			}
		}
		if m.main[i] == 0 {
			return errDegenerate
		}
		f := under / m.main[i]
		m.main[j] -= f * m.upper[i]
		m.upper[j] -= f * m.second[i]
		for k := range m.columns {
			m.x[j*m.columns+k] -= f * m.x[i*m.columns+k]
		}
	}
	if m.main[m.n-1] == 0 {
		return errDegenerate
	}
	return nil
}

// substitute solves the triangular system from its end.
func (m *threeDiagonals) substitute() {
	for i := m.n - 1; i >= 0; i-- {
		for k := range m.columns {
			v := m.x[i*m.columns+k]
			if i+1 < m.n {
				v -= m.upper[i] * m.x[(i+1)*m.columns+k]
			}
			if i+2 < m.n {
				v -= m.second[i] * m.x[(i+2)*m.columns+k]
			}
			m.x[i*m.columns+k] = v / m.main[i]
		}
	}
}
