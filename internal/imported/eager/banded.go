package eager

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// bandedOps solve systems with triangular matrices of few diagonals.
var bandedOps = map[*ops.Def]maker{ops.BandedTriangularSolve: bandedSolve}

// bands are the diagonals of a triangular matrix, [bands, n]. The main diagonal comes first in a lower matrix, last in an upper one.
type bands[T arithmetical] struct {
	v             []T
	count, n      int
	lower, across bool // across: the conjugate transpose
}

// at returns element (i, j) of the given matrix.
func (m bands[T]) at(i, j int) T {
	if m.lower {
		return m.v[(i-j)*m.n+i]
	}
	return m.v[(m.count-1-(j-i))*m.n+i]
}

// solve sets column k of x, [n, columns].
func (m bands[T]) solve(x, rhs []T, columns, k int, conj func(T) T) {
	forward := m.lower != m.across
	for step := range m.n {
		i := step
		if !forward {
			i = m.n - 1 - step
		}
		sum := rhs[i*columns+k]
		for far := 1; far < min(m.count, step+1); far++ {
			j := i - far
			if !forward {
				j = i + far
			}
			var a T
			if m.across {
				a = conj(m.at(j, i))
			} else {
				a = m.at(i, j)
			}
			sum -= a * x[j*columns+k]
		}
		own := m.at(i, i)
		if m.across {
			own = conj(own)
		}
		x[i*columns+k] = sum / own
	}
}

func bandedSolve(s *site) (kernel, error) {
	lower, across := s.boolean("lower", true), s.boolean("adjoint", false)
	return floats(solveBanded(lower, across, same1[float32]), solveBanded(lower, across, same1[float64])).complexes(
		solveBanded(lower, across, func(v complex64) complex64 { return complex(real(v), -imag(v)) }),
		solveBanded(lower, across, func(v complex128) complex128 { return complex(real(v), -imag(v)) })).on(0), nil
}

func same1[T any](v T) T { return v }

func solveBanded[T arithmetical](lower, across bool, conj func(T) T) kernel {
	return func(c call) error {
		if err := sameType(c.in); err != nil {
			return err
		}
		a, b := c.t(0).Shape, c.t(1).Shape
		if len(a) < 2 || len(b) < 2 || a[len(a)-1] != b[len(b)-2] || a[len(a)-2] < 1 || a[len(a)-2] > a[len(a)-1] {
			return fmt.Errorf("bands of shape %v for a right-hand side of shape %v: expected [..., bands, n] and [..., n, columns]", a, b)
		}
		count, n, columns := a[len(a)-2], a[len(a)-1], b[len(b)-1]
		lead, err := broadcastShape(a[:len(a)-2], b[:len(b)-2])
		if err != nil {
			return err
		}
		dst, err := outputOf[T](c, 0, append(lead[:len(lead):len(lead)], n, columns)...)
		if err != nil || len(dst) == 0 {
			return err
		}
		all, rhs := tensor.Values[T](c.t(0)), tensor.Values[T](c.t(1))
		return eachPair(lead, a[:len(a)-2], b[:len(b)-2], func(i, x, y int) error {
			m := bands[T]{all[x*count*n : (x+1)*count*n], count, n, lower, across}
			for k := range n {
				if m.at(k, k) == 0 {
					return errors.New("Input matrix is not invertible.")
				}
			}
			for k := range columns {
				m.solve(dst[i*n*columns:(i+1)*n*columns], rhs[y*n*columns:(y+1)*n*columns], columns, k, conj)
			}
			return c.ctx.Err()
		})
	}
}
