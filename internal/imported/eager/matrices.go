package eager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// matrixOps are on matrices [..., m, n], computed in float64.
var matrixOps = map[*ops.Def]maker{
	ops.Cholesky:              onMatrices(func(m square) (square, error) { return kernels.Cholesky(m), nil }),
	ops.MatrixInverse:         adjoint(kernels.Inverse),
	ops.MatrixDeterminant:     plain(floats(determinants[float32], determinants[float64]).on(0)),
	ops.LogMatrixDeterminant:  plain(floats(logDeterminants[float32], logDeterminants[float64]).on(0)),
	ops.MatrixSolve:           matrixSolve,
	ops.MatrixTriangularSolve: triangularSolve,
	ops.SelfAdjointEigV2:      eigen,
}

// square is a square matrix.
type square = kernels.Matrix

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
		m := square{N: n, A: make([]float64, n*n), Ended: func() bool { return c.ctx.Err() != nil }}
		for k, v := range src[i*n*n : (i+1)*n*n] {
			m.A[k] = float64(v)
		}
		if err := f(i, m); err != nil && !m.Ended() {
			if errors.Is(err, kernels.ErrSingular) {
				return errSingular
			}
			return err
		}
	}
	return c.ctx.Err()
}

// errSingular is what a singular matrix gives, in TensorFlow's words.
var errSingular = errors.New("Input matrix is not invertible.")

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
			for k, v := range out.A {
				dst[i*len(out.A)+k] = T(v)
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
		return onMatrices(func(m square) (square, error) { return f(m.Transposed()) })(s)
	}
}

// matrixSolve solves a system for each matrix.
func matrixSolve(s *site) (kernel, error) {
	flip := s.boolean("adjoint", false)
	solve := func(m square, b []float64, k int) ([]float64, error) {
		if flip {
			m = m.Transposed()
		}
		return kernels.LU(m).Solve(b, k)
	}
	return floats(solveEach[float32](solve), solveEach[float64](solve)).on(0), nil
}

// triangularSolve solves a triangular system for each matrix; it reads one triangle.
func triangularSolve(s *site) (kernel, error) {
	lower, flip := s.boolean("lower", true), s.boolean("adjoint", false)
	solve := func(m square, b []float64, k int) ([]float64, error) {
		below := lower
		if flip {
			m, below = m.Transposed(), !lower
		}
		kernels.Substitute(m, b, k, below, false)
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
