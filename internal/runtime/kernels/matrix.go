package kernels

import (
	"errors"
	"math"
)

// Matrix is a square matrix of N rows, stored by rows.
type Matrix[T Field] struct {
	N     int
	A     []T
	Ended func() bool // reports that nobody waits for the result any more, so it may be wrong; nil: never
}

// ended reports whether nobody waits for the result any more.
func (m Matrix[T]) ended() bool { return m.Ended != nil && m.Ended() }

// Of returns a matrix of the same size with the elements a.
func (m Matrix[T]) Of(a []T) Matrix[T] { return Matrix[T]{m.N, a, m.Ended} }

// Zeros returns a matrix of zeros of the same size.
func (m Matrix[T]) Zeros() Matrix[T] { return m.Of(make([]T, len(m.A))) }

// At returns the element of row i and column j.
func (m Matrix[T]) At(i, j int) *T { return &m.A[i*m.N+j] }

// row returns the elements of row i.
func (m Matrix[T]) row(i int) []T { return m.A[i*m.N : (i+1)*m.N] }

// Adjoint returns the conjugate transpose.
func (m Matrix[T]) Adjoint() Matrix[T] {
	t := m.Zeros()
	for i := range m.N {
		for j := range m.N {
			*t.At(j, i) = Conj(*m.At(i, j))
		}
	}
	return t
}

// Cholesky returns the lower triangle whose product with its adjoint is m. It is NaN if there is none.
func Cholesky[T Field](m Matrix[T]) Matrix[T] {
	l, ok := Root(m)
	if !ok {
		return l.undefined()
	}
	return l
}

// Root finds the lower triangle whose product with its adjoint is m. It reads only the lower triangle of m, and returns false if m is
// not positive definite. Elements that depend on NaN are NaN.
func Root[T Field](m Matrix[T]) (l Matrix[T], ok bool) {
	l = m.Zeros()
	for j := 0; j < m.N && !m.ended(); j++ {
		y := Conjugates(l.row(j)[:j])
		for i := j; i < m.N; i++ {
			sum, x := *m.At(i, j), l.row(i)[:j]
			for k, v := range x {
				sum -= v * y[k]
			}
			if i > j {
				*l.At(i, j) = sum / *l.At(j, j)
				continue
			}
			square := Real(sum)
			if square <= 0 {
				return l, false
			}
			*l.At(j, j) = FromReal[T](math.Sqrt(square))
		}
	}
	return l, true
}

// undefined makes the lower triangle NaN.
func (m Matrix[T]) undefined() Matrix[T] {
	for i := range m.N {
		for j := range i + 1 {
			*m.At(i, j) = FromReal[T](math.NaN())
		}
	}
	return m
}

// Factors are an LU decomposition with pivots, in place: L without its diagonal of ones, and U.
type Factors[T Field] struct {
	Matrix[T]
	Rows []int   // the matrix's row of each row
	Sign float64 // sign of the permutation
}

// LU decomposes m, which it overwrites. It skips a column without a pivot. NaN counts as larger than all numbers.
func LU[T Field](m Matrix[T]) Factors[T] {
	f := Factors[T]{m, make([]int, m.N), 1}
	for i := range f.Rows {
		f.Rows[i] = i
	}
	for k := 0; k < m.N && !m.ended(); k++ {
		p := k
		for i := k + 1; i < m.N; i++ {
			if v, most := Magnitude(*m.At(i, k)), Magnitude(*m.At(p, k)); v > most || v != v && most == most {
				p = i
			}
		}
		if p != k {
			f.Sign = -f.Sign
			f.Rows[p], f.Rows[k] = f.Rows[k], f.Rows[p]
			for j, v := range m.row(p) {
				*m.At(p, j), *m.At(k, j) = *m.At(k, j), v
			}
		}
		pivot := *m.At(k, k)
		if pivot == 0 {
			continue
		}
		from := m.row(k)[k+1:]
		for i := k + 1; i < m.N; i++ {
			*m.At(i, k) /= pivot
			by, row := *m.At(i, k), m.row(i)[k+1:]
			for j, v := range from {
				row[j] -= by * v
			}
		}
	}
	return f
}

// Singular reports whether there is no inverse, because a pivot is missing or the first column has NaN.
func (f Factors[T]) Singular() bool {
	for k := range f.N {
		if v := *f.At(k, k); v == 0 || k == 0 && v != v {
			return true
		}
	}
	return false
}

// ErrSingular is the error for a singular matrix.
var ErrSingular = errors.New("the matrix is not invertible")

// Solve returns the solution x of m·x = b, where b has k columns.
func (f Factors[T]) Solve(b []T, k int) ([]T, error) {
	x := make([]T, len(b))
	for i, from := range f.Rows {
		copy(x[i*k:(i+1)*k], b[from*k:(from+1)*k])
	}
	if f.Singular() {
		return nil, ErrSingular
	}
	Substitute(f.Matrix, x, k, true, true)
	Substitute(f.Matrix, x, k, false, false)
	return x, nil
}

// Substitute solves the triangular system m in place, where x has k columns. The diagonal of a unit triangle is ones and is not read.
func Substitute[T Field](m Matrix[T], x []T, k int, lower, unit bool) {
	for step := 0; step < m.N && !m.ended(); step++ {
		i, from, to := step, 0, step
		if !lower {
			i = m.N - 1 - step
			from, to = i+1, m.N
		}
		row := x[i*k : (i+1)*k]
		for j := from; j < to; j++ {
			by := *m.At(i, j)
			for c, v := range x[j*k : (j+1)*k] {
				row[c] -= by * v
			}
		}
		if !unit {
			for c := range row {
				row[c] /= *m.At(i, i)
			}
		}
	}
}

// Inverse returns the inverse of m, which it overwrites.
func Inverse[T Field](m Matrix[T]) (Matrix[T], error) {
	one := m.Zeros()
	for i := range m.N {
		*one.At(i, i) = 1
	}
	x, err := LU(m).Solve(one.A, m.N)
	return m.Of(x), err
}
