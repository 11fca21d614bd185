package engine

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// gatherEach is GatherV2 with batch_dims 1 along axis 1: row r of the result, [batch, k], has the elements of row r of x,
// [batch, n], at the indices in row r of ids.
func gatherEach(x, out *value, ids indices, axis int) (runFunc, error) {
	if len(x.dims) != 2 || len(ids.v.dims) != 2 || axis != 1 || x.typ.DType == tensor.String {
		return nil, fmt.Errorf("batch_dims 1: expected numbers [batch, n], indices [batch, k] and axis 1, got %v, %v and %d",
			x.typ, ids.v.typ, axis)
	}
	want := graph.Shape{Dims: []graph.Dim{x.typ.Shape.Dims[0], ids.v.typ.Shape.Dims[1]}}
	if !want.Equal(out.typ.Shape) || x.typ.Shape.Dims[0] != ids.v.typ.Shape.Dims[0] {
		return nil, fmt.Errorf("expected a result of shape %v and as many rows of indices, got %v and %v", want, out.typ.Shape, ids.v.typ.Shape)
	}
	size := x.typ.DType.Size()
	do := parallel(16, func(lo, hi int) {
		n, k := x.dims[1], ids.v.dims[1]
		if x.typ.DType == tensor.Float32 && ids.v.typ.DType == tensor.Int32 {
			for r := lo; r < hi; r++ {
				row, to := view[float32](x)[r*n:(r+1)*n], view[float32](out)[r*k:(r+1)*k]
				for i, id := range view[int32](ids.v)[r*k : (r+1)*k] {
					to[i] = row[id]
				}
			}
			return
		}
		for i := lo * k; i < hi*k; i++ {
			from := (i/k*n + ids.at(i)) * size
			copy(out.mem[i*size:(i+1)*size], x.mem[from:from+size])
		}
	})
	return func() error {
		if err := ids.check(x.dims[1]); err != nil {
			return err
		}
		if len(out.dims) == 2 && out.n > 0 {
			do(out.dims[0])
		}
		return nil
	}, checkSame(x, out)
}
