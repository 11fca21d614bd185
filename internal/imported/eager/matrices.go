package eager

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// matrixOps are on matrices [..., m, n], computed in float64.
var matrixOps = map[*ops.Def]maker{
	ops.Cholesky:              onMatrices(cholesky),
	ops.MatrixInverse:         adjoint(inverseOf),
	ops.MatrixDeterminant:     plain(floats(determinants[float32], determinants[float64]).on(0)),
	ops.LogMatrixDeterminant:  plain(floats(logDeterminants[float32], logDeterminants[float64]).on(0)),
	ops.MatrixSolve:           matrixSolve,
	ops.MatrixTriangularSolve: triangularSolve,
	ops.SelfAdjointEigV2:      eigen,
}

// square is a square matrix of n rows, by rows.
type square struct {
	n     int
	a     []float64
	ended func() bool // nobody waits for the result any more: it need not be right
}

// of returns a matrix of the same size with other elements.
func (m square) of(a []float64) square { return square{m.n, a, m.ended} }

// zeros returns a matrix of the same size.
func (m square) zeros() square { return m.of(make([]float64, len(m.a))) }

func (m square) at(i, j int) *float64 { return &m.a[i*m.n+j] }

func (m square) transposed() square {
	t := m.zeros()
	for i := range m.n {
		for j := range m.n {
			*t.at(j, i) = *m.at(i, j)
		}
	}
	return t
}

// eachSquare calls f for each matrix of input 0, in turn, after it has paid for scratch of as many matrices.
func eachSquare[T float](c call, f func(i int, m square) error) error {
	t := c.t(0)
	r := len(t.Shape) - 2
	if r < 0 || t.Shape[r] != t.Shape[r+1] {
		return fmt.Errorf("Input matrix must be square: got shape %s", shapeText(t.Shape))
	}
	n := t.Shape[r]
	if err := c.room(3*n*n, 8); err != nil {
		return err
	}
	src := tensor.Values[T](t)
	for i := range product(t.Shape[:r]) {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		m := square{n, make([]float64, n*n), func() bool { return c.ctx.Err() != nil }}
		for k, v := range src[i*n*n : (i+1)*n*n] {
			m.a[k] = float64(v)
		}
		if err := f(i, m); err != nil && !m.ended() {
			return err
		}
	}
	return c.ctx.Err()
}

// onMatrices makes a matrix of each matrix.
func onMatrices(f func(m square) (square, error)) maker {
	return plain(floats(mapSquares[float32](f), mapSquares[float64](f)).on(0))
}

func mapSquares[T float](f func(m square) (square, error)) kernel {
	return func(c call) error {
		dst, err := outputOf[T](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		return eachSquare[T](c, func(i int, m square) error {
			out, err := f(m)
			if err != nil {
				return err
			}
			for k, v := range out.a {
				dst[i*len(out.a)+k] = T(v)
			}
			return nil
		})
	}
}

// adjoint is onMatrices of a matrix or of its transpose, as the attribute says.
func adjoint(f func(m square) (square, error)) maker {
	return func(s *site) (kernel, error) {
		if !s.boolean("adjoint", false) {
			return onMatrices(f)(s)
		}
		return onMatrices(func(m square) (square, error) { return f(m.transposed()) })(s)
	}
}

// cholesky returns the lower triangle whose product with its transpose is m, NaN where there is none. It reads the lower triangle.
func cholesky(m square) (square, error) {
	l := m.zeros()
	for j := 0; j < m.n && !m.ended(); j++ {
		for i := j; i < m.n; i++ {
			sum := *m.at(i, j)
			for k := range j {
				sum -= *l.at(i, k) * *l.at(j, k)
			}
			switch {
			case i > j:
				*l.at(i, j) = sum / *l.at(j, j)
			case sum > 0:
				*l.at(j, j) = math.Sqrt(sum)
			default:
				return l.undefined(), nil
			}
		}
	}
	return l, nil
}

// undefined makes the lower triangle NaN.
func (m square) undefined() square {
	for i := range m.n {
		for j := range i + 1 {
			*m.at(i, j) = math.NaN()
		}
	}
	return m
}

// factors are an LU decomposition with pivots, in place: L without its diagonal of ones, and U.
type factors struct {
	square
	rows []int // which row of the matrix each row is
	sign float64
}

// lu decomposes m, which it overwrites. A column without a pivot is left.
func lu(m square) factors {
	f := factors{m, make([]int, m.n), 1}
	for i := range f.rows {
		f.rows[i] = i
	}
	for k := 0; k < m.n && !m.ended(); k++ {
		p := k
		for i := k + 1; i < m.n; i++ {
			if math.Abs(*m.at(i, k)) > math.Abs(*m.at(p, k)) {
				p = i
			}
		}
		if p != k {
			f.sign = -f.sign
			f.rows[p], f.rows[k] = f.rows[k], f.rows[p]
			for j := range m.n {
				*m.at(p, j), *m.at(k, j) = *m.at(k, j), *m.at(p, j)
			}
		}
		pivot := *m.at(k, k)
		if pivot == 0 {
			continue
		}
		for i := k + 1; i < m.n; i++ {
			*m.at(i, k) /= pivot
			for j := k + 1; j < m.n; j++ {
				*m.at(i, j) -= *m.at(i, k) * *m.at(k, j)
			}
		}
	}
	return f
}

var errSingular = errors.New("Input matrix is not invertible.")

// solve returns x of m·x = b, for b of k columns.
func (f factors) solve(b []float64, k int) ([]float64, error) {
	x := make([]float64, len(b))
	for i, from := range f.rows {
		copy(x[i*k:(i+1)*k], b[from*k:(from+1)*k])
	}
	for i := range f.n {
		if *f.at(i, i) == 0 {
			return nil, errSingular
		}
	}
	substitute(f.square, x, k, true, true)
	substitute(f.square, x, k, false, false)
	return x, nil
}

// substitute solves the triangular system of m in place.
func substitute(m square, x []float64, k int, lower, unit bool) {
	for step := 0; step < m.n && !m.ended(); step++ {
		i, from, to := step, 0, step
		if !lower {
			i = m.n - 1 - step
			from, to = i+1, m.n
		}
		row := x[i*k : (i+1)*k]
		for j := from; j < to; j++ {
			for c := range row {
				row[c] -= *m.at(i, j) * x[j*k+c]
			}
		}
		if !unit {
			for c := range row {
				row[c] /= *m.at(i, i)
			}
		}
	}
}

func inverseOf(m square) (square, error) {
	one := m.zeros()
	for i := range m.n {
		*one.at(i, i) = 1
	}
	x, err := lu(m).solve(one.a, m.n)
	return m.of(x), err
}

func determinants[T float](c call) error {
	r := max(len(c.t(0).Shape)-2, 0)
	dst, err := outputOf[T](c, 0, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	return eachSquare[T](c, func(i int, m square) error {
		f := lu(m)
		d := f.sign
		for k := range m.n {
			d *= *f.at(k, k)
		}
		dst[i] = T(d)
		return nil
	})
}

func logDeterminants[T float](c call) error {
	r := max(len(c.t(0).Shape)-2, 0)
	signs, err := outputOf[T](c, 0, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	logs, err := outputOf[T](c, 1, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	return eachSquare[T](c, func(i int, m square) error {
		f := lu(m)
		sign, sum := f.sign, 0.0
		for k := range m.n {
			v := *f.at(k, k)
			if v < 0 {
				sign = -sign
			}
			if v == 0 {
				sign = 0
			}
			sum += math.Log(math.Abs(v))
		}
		signs[i], logs[i] = T(sign), T(sum)
		return nil
	})
}

// matrixSolve solves a system for each matrix.
func matrixSolve(s *site) (kernel, error) {
	flip := s.boolean("adjoint", false)
	solve := func(m square, b []float64, k int) ([]float64, error) {
		if flip {
			m = m.transposed()
		}
		return lu(m).solve(b, k)
	}
	return floats(solveEach[float32](solve), solveEach[float64](solve)).on(0), nil
}

// triangularSolve solves a triangular system for each matrix; it reads one triangle.
func triangularSolve(s *site) (kernel, error) {
	lower, flip := s.boolean("lower", true), s.boolean("adjoint", false)
	solve := func(m square, b []float64, k int) ([]float64, error) {
		below := lower
		if flip {
			m, below = m.transposed(), !lower
		}
		substitute(m, b, k, below, false)
		return b, nil
	}
	each := floats(solveEach[float32](solve), solveEach[float64](solve)).on(0)
	return func(c call) error {
		wide, err := c.broadcastBatches()
		if err != nil {
			return err
		}
		return each(wide)
	}, nil
}

// broadcastBatches returns the call with all but the last two dimensions of both inputs broadcast.
func (c call) broadcastBatches() (call, error) {
	shapes := [...][]int{c.t(0).Shape, c.t(1).Shape}
	if len(shapes[0]) < 2 || len(shapes[1]) < 2 {
		return c, fmt.Errorf("expected at least matrices, got shapes %s and %s", shapeText(shapes[0]), shapeText(shapes[1]))
	}
	lead, err := broadcastShape(shapes[0][:len(shapes[0])-2], shapes[1][:len(shapes[1])-2])
	if err != nil {
		return c, err
	}
	in := slices.Clone(c.in)
	for i, from := range shapes {
		shape := slices.Concat(lead, from[len(from)-2:])
		if slices.Equal(shape, from) {
			continue
		}
		wide := c
		wide.out = make([]Value, 1)
		if err := wide.box(c.t(i), shape, spread(from, shape)); err != nil {
			return c, err
		}
		in[i] = wide.out[0]
	}
	c.in = in
	return c, nil
}

func solveEach[T float](solve func(m square, b []float64, k int) ([]float64, error)) kernel {
	return func(c call) error {
		a, b := c.t(0), c.t(1)
		r := len(a.Shape) - 2
		if r < 0 || len(b.Shape) != r+2 || !slices.Equal(a.Shape[:r+1], b.Shape[:r+1]) || a.DType != b.DType {
			return fmt.Errorf("matrix %s and rhs %s: expected matrices of as many rows, of one type", shapeText(a.Shape), shapeText(b.Shape))
		}
		dst, err := outputOf[T](c, 0, b.Shape...)
		if err != nil {
			return err
		}
		n, k := b.Shape[r], b.Shape[r+1]
		if err := c.room(2*n*k, 8); err != nil {
			return err
		}
		src, right := tensor.Values[T](b), make([]float64, n*k)
		return eachSquare[T](c, func(i int, m square) error {
			for j, v := range src[i*n*k : (i+1)*n*k] {
				right[j] = float64(v)
			}
			x, err := solve(m, right, k)
			if err != nil {
				return err
			}
			for j, v := range x {
				dst[i*n*k+j] = T(v)
			}
			return nil
		})
	}
}
