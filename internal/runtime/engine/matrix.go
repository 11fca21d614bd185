package engine

import (
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
)

// matrixOps are on square matrices, the last two dimensions; they compute in float64.
var matrixOps = map[*ops.Def]opDef{
	ops.Cholesky:      {compile: floats(eachMatrix[float32](cholesky), eachMatrix[float64](cholesky))},
	ops.MatrixInverse: {compile: floats(inverse[float32], inverse[float64])},
}

func cholesky(m realMatrix) (realMatrix, error) { return kernels.Cholesky(m), nil }

// realMatrix is a square matrix of real numbers.
type realMatrix = kernels.Matrix[float64]

// inverse inverts a matrix or, with the attribute adjoint, its transpose.
func inverse[T kernels.Float](c *binding) (runFunc, error) {
	if !c.node.Bool("adjoint") {
		return eachMatrix[T](kernels.Inverse[float64])(c)
	}
	return eachMatrix[T](func(m realMatrix) (realMatrix, error) { return kernels.Inverse(m.Adjoint()) })(c)
}

// eachMatrix applies f to each matrix of a tensor [..., n, n]. f may overwrite its argument.
func eachMatrix[T kernels.Float](f func(m realMatrix) (realMatrix, error)) compileFunc {
	return func(c *binding) (runFunc, error) {
		in, out, err := sameAs[T, T](c, 1)
		if err != nil {
			return nil, err
		}
		x := in[0]
		r := len(x.dims) - 2
		if r < 0 || x.typ.Shape.Dims[r] != x.typ.Shape.Dims[r+1] {
			return nil, fmt.Errorf("expected square matrices, got shape %v", x.typ.Shape)
		}
		var failed struct {
			sync.Mutex
			err error
		}
		do := parallel(1, func(lo, hi int) {
			n := x.dims[r]
			size := n * n
			m := realMatrix{N: n, A: make([]float64, size)}
			for i := lo; i < hi; i++ {
				for k, v := range view[T](x)[i*size : (i+1)*size] {
					m.A[k] = float64(v)
				}
				y, err := f(m)
				if err != nil {
					failed.Lock()
					failed.err = fmt.Errorf("matrix %d: %w", i, err)
					failed.Unlock()
					return
				}
				for k, v := range y.A {
					view[T](out)[i*size+k] = T(v)
				}
			}
		})
		return func() error {
			if x.n == 0 {
				return nil
			}
			failed.err = nil
			do(x.n / (x.dims[r] * x.dims[r]))
			return failed.err
		}, nil
	}
}
