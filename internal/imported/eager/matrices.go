package eager

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// matrixOps work on matrices [..., m, n]. They compute in float64 and complex128.
var matrixOps = map[*ops.Def]maker{
	ops.Cholesky:              plain(inexact(mapSquares[float32](cholesky[float64]), mapSquares[float64](cholesky[float64]), mapSquares[complex64](cholesky[complex128]), mapSquares[complex128](cholesky[complex128]))),
	ops.MatrixInverse:         inverse,
	ops.MatrixDeterminant:     plain(inexact(determinants[float32, float64], determinants[float64, float64], determinants[complex64, complex128], determinants[complex128, complex128])),
	ops.LogMatrixDeterminant:  plain(inexact(logDeterminants[float32, float64], logDeterminants[float64, float64], logDeterminants[complex64, complex128], logDeterminants[complex128, complex128])),
	ops.MatrixSolve:           matrixSolve,
	ops.MatrixTriangularSolve: triangularSolve,
	ops.SelfAdjointEigV2:      eigen,
}

// inexact selects the kernel for input 0's type.
func inexact(f32, f64, c64, c128 kernel) kernel {
	return floats(f32, f64).complexes(c64, c128).on(0)
}

// eachSquare calls f for each matrix of input 0, in turn, after paying for scratch memory.
func eachSquare[T inexactNumber, W kernels.Field](c call, f func(i int, m kernels.Matrix[W]) error) error {
	t := c.t(0)
	r := len(t.Shape) - 2
	if r < 0 || t.Shape[r] != t.Shape[r+1] {
		return fmt.Errorf("Input matrix must be square: got shape %s", shapeText(t.Shape))
	}
	n := t.Shape[r]
	if err := c.room(4*n*n, 16); err != nil {
		return err
	}
	src := tensor.Values[T](t)
	for i := range product(t.Shape[:r]) {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		m := kernels.Matrix[W]{N: n, A: widen[W](src[i*n*n : (i+1)*n*n]), Ended: c.ended}
		if err := f(i, m); err != nil && !m.Ended() {
			if errors.Is(err, kernels.ErrSingular) {
				return errSingular
			}
			return err
		}
	}
	return c.ctx.Err()
}

// errSingular is TensorFlow's error for a singular matrix.
var errSingular = errors.New("Input matrix is not invertible.")

// mapSquares makes a kernel that maps matrices to matrices.
func mapSquares[T inexactNumber, W kernels.Field](f func(m kernels.Matrix[W]) (kernels.Matrix[W], error)) kernel {
	return func(c call) error {
		dst, err := outputOf[T](c, 0, c.t(0).Shape...)
		if err != nil {
			return err
		}
		return eachSquare[T](c, func(i int, m kernels.Matrix[W]) error {
			out, err := f(m)
			if err != nil {
				return err
			}
			narrowTo(dst[i*len(out.A):(i+1)*len(out.A)], out.A)
			return nil
		})
	}
}

func cholesky[W kernels.Field](m kernels.Matrix[W]) (kernels.Matrix[W], error) {
	return kernels.Cholesky(m), nil
}

// inverse is the inverse of a matrix, or of its adjoint.
func inverse(s *site) (kernel, error) {
	if s.boolean("adjoint", false) {
		return inexact(mapSquares[float32](ofAdjoint[float64]), mapSquares[float64](ofAdjoint[float64]), mapSquares[complex64](ofAdjoint[complex128]), mapSquares[complex128](ofAdjoint[complex128])), nil
	}
	return inexact(mapSquares[float32](kernels.Inverse[float64]), mapSquares[float64](kernels.Inverse[float64]), mapSquares[complex64](kernels.Inverse[complex128]), mapSquares[complex128](kernels.Inverse[complex128])), nil
}

func ofAdjoint[W kernels.Field](m kernels.Matrix[W]) (kernels.Matrix[W], error) {
	return kernels.Inverse(m.Adjoint())
}

// matrixSolve solves a system for each matrix.
func matrixSolve(s *site) (kernel, error) {
	flip := s.boolean("adjoint", false)
	return inexact(solveEach[float32](general[float64](flip)), solveEach[float64](general[float64](flip)), solveEach[complex64](general[complex128](flip)), solveEach[complex128](general[complex128](flip))), nil
}

// solver returns the x with m·x = b, for b of k columns. It may overwrite both.
type solver[W kernels.Field] func(m kernels.Matrix[W], b []W, k int) ([]W, error)

// general solves with a matrix, or with its adjoint.
func general[W kernels.Field](flip bool) solver[W] {
	return func(m kernels.Matrix[W], b []W, k int) ([]W, error) {
		if flip {
			m = m.Adjoint()
		}
		return kernels.LU(m).Solve(b, k)
	}
}

// triangularSolve solves a triangular system for each matrix; it reads one triangle.
func triangularSolve(s *site) (kernel, error) {
	lower, flip := s.boolean("lower", true), s.boolean("adjoint", false)
	each := inexact(solveEach[float32](triangular[float64](lower, flip)), solveEach[float64](triangular[float64](lower, flip)),
		solveEach[complex64](triangular[complex128](lower, flip)), solveEach[complex128](triangular[complex128](lower, flip)))
	return func(c call) error {
		wide, err := c.broadcastBatches()
		if err != nil {
			return err
		}
		return each(wide)
	}, nil
}

func triangular[W kernels.Field](lower, flip bool) solver[W] {
	return func(m kernels.Matrix[W], b []W, k int) ([]W, error) {
		below := lower
		if flip {
			m, below = m.Adjoint(), !lower
		}
		kernels.Substitute(m, b, k, below, false)
		return b, nil
	}
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

func solveEach[T inexactNumber, W kernels.Field](solve solver[W]) kernel {
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
		size := b.Shape[r] * b.Shape[r+1]
		if err := c.room(2*size, 16); err != nil {
			return err
		}
		src := tensor.Values[T](b)
		return eachSquare[T](c, func(i int, m kernels.Matrix[W]) error {
			x, err := solve(m, widen[W](src[i*size:(i+1)*size]), b.Shape[r+1])
			if err != nil {
				return err
			}
			narrowTo(dst[i*size:(i+1)*size], x)
			return nil
		})
	}
}
