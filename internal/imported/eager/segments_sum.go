package eager

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// unsortedSum adds rows of floats by threads that share the segments; other types are added like in other reductions.
func unsortedSum() kernel {
	all := segmentsOf(sumOf, true)
	all[tensor.Float32], all[tensor.Float64] = sumRows[float32], sumRows[float64]
	return complexSegments(all, sumOf, true)
}

func sumRows[T float](c call) error {
	num, err := c.segmentsAsked(true)
	if err != nil {
		return err
	}
	switch ids := c.t(1); ids.DType {
	case tensor.Int32:
		return sumRowsBy[T](c, tensor.Values[int32](ids), num)
	case tensor.Int64:
		return sumRowsBy[T](c, tensor.Values[int64](ids), num)
	default:
		return fmt.Errorf("segment_ids: expected int32 or int64, got %v", ids.DType)
	}
}

func sumRowsBy[T float, I int32 | int64](c call, ids []I, num int) error {
	t := c.t(0)
	if t.Len() > 0 { // else TensorFlow does not check the ids
		if _, err := segmentIDs(ids, false, num); err != nil {
			return err
		}
	}
	rest := t.Shape[len(c.t(1).Shape):]
	dst, err := outputOf[T](c, 0, append([]int{num}, rest...)...)
	if err == nil && t.Len() > 0 {
		kernels.ScatterRows(kernels.Add, dst, tensor.Values[T](t), ids, product(rest))
	}
	return err
}
