package eager

import "github.com/goestimator/goestimator/internal/runtime/kernels"

func determinants[T inexactNumber, W kernels.Field](c call) error {
	r := max(len(c.t(0).Shape)-2, 0)
	dst, err := outputOf[T](c, 0, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	return eachSquare[T](c, func(i int, m kernels.Matrix[W]) error {
		narrowTo(dst[i:i+1], []W{kernels.LU(m).Determinant()})
		return nil
	})
}

func logDeterminants[T inexactNumber, W kernels.Field](c call) error {
	r := max(len(c.t(0).Shape)-2, 0)
	signs, err := outputOf[T](c, 0, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	logs, err := outputOf[T](c, 1, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	return eachSquare[T](c, func(i int, m kernels.Matrix[W]) error {
		sign, log := kernels.LU(m).LogDeterminant()
		narrowTo(signs[i:i+1], []W{sign})
		narrowTo(logs[i:i+1], []float64{log})
		return nil
	})
}
