package eager

import "github.com/goestimator/goestimator/internal/runtime/kernels"

func determinants[T float](c call) error {
	r := max(len(c.t(0).Shape)-2, 0)
	dst, err := outputOf[T](c, 0, c.t(0).Shape[:r]...)
	if err != nil {
		return err
	}
	return eachSquare[T](c, func(i int, m square) error {
		dst[i] = T(kernels.LU(m).Determinant())
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
		sign, log := kernels.LU(m).LogDeterminant()
		signs[i], logs[i] = T(sign), T(log)
		return nil
	})
}
