package engine

import (
	"errors"
	"fmt"
	"math"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// segmentOps reduce the rows of each segment.
var segmentOps = map[*ops.Def]opDef{
	ops.UnsortedSegmentSum:  {compile: byType(map[tensor.DType]compileFunc{tensor.Float32: segmentSum[float32], tensor.Float64: segmentSum[float64], tensor.Int32: segmentSum[int32], tensor.Int64: segmentSum[int64]}, out0)},
	ops.UnsortedSegmentProd: {compile: byType(map[tensor.DType]compileFunc{tensor.Float32: segmentProd[float32], tensor.Float64: segmentProd[float64], tensor.Int32: segmentProd[int32], tensor.Int64: segmentProd[int64]}, out0)},
	ops.UnsortedSegmentMax: {compile: byType(map[tensor.DType]compileFunc{tensor.Float32: segmentMax[float32](-math.MaxFloat32), tensor.Float64: segmentMax[float64](-math.MaxFloat64),
		tensor.Int32: segmentMax[int32](math.MinInt32), tensor.Int64: segmentMax[int64](math.MinInt64)}, out0)},
	ops.UnsortedSegmentMin: {compile: byType(map[tensor.DType]compileFunc{tensor.Float32: segmentMin[float32](math.MaxFloat32), tensor.Float64: segmentMin[float64](math.MaxFloat64),
		tensor.Int32: segmentMin[int32](math.MaxInt32), tensor.Int64: segmentMin[int64](math.MaxInt64)}, out0)},
}

func segmentSum[T number](c *binding) (runFunc, error) {
	return segments(c, 0, func(dst, row []T) {
		for i, e := range row {
			dst[i] += e
		}
	})
}

func segmentProd[T number](c *binding) (runFunc, error) {
	return segments(c, 1, func(dst, row []T) {
		for i, e := range row {
			dst[i] *= e
		}
	})
}

// segmentMax starts from the lowest finite number, the result of a segment without rows. An element that is not less than the
// maximum replaces it: so NaN replaces any number, and any number replaces NaN.
func segmentMax[T number](lowest T) compileFunc {
	return func(c *binding) (runFunc, error) {
		return segments(c, lowest, func(dst, row []T) {
			for i, e := range row {
				if !(e < dst[i]) {
					dst[i] = e
				}
			}
		})
	}
}

// segmentMin starts from the highest finite number, the result of a segment without rows.
func segmentMin[T number](highest T) compileFunc {
	return func(c *binding) (runFunc, error) {
		return segments(c, highest, func(dst, row []T) {
			for i, e := range row {
				if !(dst[i] < e) {
					dst[i] = e
				}
			}
		})
	}
}

// segments takes data, segment_ids and num_segments (not read), and adds each row to its segment; rows with a negative id are
// dropped. A segment starts as a row of empty.
func segments[T number](c *binding, empty T, add func(dst, row []T)) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	ids, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	if len(out.dims) == 0 {
		return nil, fmt.Errorf("expected a result of rank >= 1, got a scalar")
	}
	if err := errors.Join(checkTypes[T](x, out), checkShape("data", x, ids.v.typ.Shape.Dims, out.typ.Shape.Dims[1:])); err != nil {
		return nil, err
	}
	return func() error {
		d, data := view[T](out), view[T](x)
		for i := range d {
			d[i] = empty
		}
		if x.n == 0 {
			return nil // TensorFlow does not check the indices
		}
		inner := elementsAfter(out, 0)
		for r := range ids.v.n {
			k := ids.at(r)
			if k >= out.dims[0] {
				return &IndexError{k, r, out.dims[0]}
			}
			if k >= 0 {
				add(d[k*inner:(k+1)*inner], data[r*inner:(r+1)*inner])
			}
		}
		return nil
	}, nil
}
