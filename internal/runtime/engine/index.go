package engine

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/goestimator/goestimator/internal/runtime/topn"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// indexOps select by index, or make indices.
var indexOps = map[*ops.Def]opDef{
	ops.GatherV2:            {compile: compileGather},
	ops.GatherNd:            {compile: compileGatherNd},
	ops.TensorScatterUpdate: {compile: scatterUpdate},
	ops.ScatterNd:           {compile: byType(map[tensor.DType]compileFunc{tensor.Float32: scatterNd[float32], tensor.Float64: scatterNd[float64], tensor.Int32: scatterNd[int32], tensor.Int64: scatterNd[int64]}, out0)},
	ops.ArgMax:              {compile: argExtreme(false)},
	ops.ArgMin:              {compile: argExtreme(true)},
	ops.TopKV2:              {compile: floats(compileTopK[float32], compileTopK[float64])},
	ops.InTopKV2:            {compile: floatsIn(compileInTopK[float32], compileInTopK[float64])},
}

// compileGather takes params, indices and a constant axis.
func compileGather(c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	ids, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	axis, err := c.axis(2, len(x.dims))
	if err != nil {
		return nil, err
	}
	switch n := c.node.Int("batch_dims", 0); n {
	case 0:
	case 1:
		return gatherEach(x, out, ids, axis)
	default:
		return nil, fmt.Errorf("batch_dims: expected 0 or 1, got %d", n)
	}
	dims := append(append(append([]graph.Dim(nil), x.typ.Shape.Dims[:axis]...), ids.v.typ.Shape.Dims...), x.typ.Shape.Dims[axis+1:]...)
	if want := (graph.Shape{Dims: dims}); !want.Equal(out.typ.Shape) {
		return nil, fmt.Errorf("expected a result of shape %v, got %v", want, out.typ.Shape)
	}
	if c.node.Bool(graph.NegativeGivesZeros) {
		return gatherPadded(x, out, ids, axis)
	}
	size := x.typ.DType.Size()
	do := parallel(64, func(lo, hi int) {
		inner := elementsAfter(x, axis) * size
		n, count := x.dims[axis], ids.v.n
		if inner == 4 && axis == 0 && x.typ.DType == tensor.Float32 {
			gatherScalars(view[float32](out), view[float32](x), ids, lo, hi)
			return
		}
		for r := lo; r < hi; r++ {
			from := (r/count*n + ids.at(r%count)) * inner
			copy(out.mem[r*inner:(r+1)*inner], x.mem[from:from+inner])
		}
	})
	return func() error {
		if out.n == 0 {
			return nil // TensorFlow does not check the indices
		}
		if err := ids.check(x.dims[axis]); err != nil {
			return err
		}
		do(out.n / elementsAfter(x, axis))
		return nil
	}, checkSame(x, out)
}

// gatherScalars gathers rows of one element, the lookups of a linear model.
// Without calls in between, their cache misses overlap.
func gatherScalars(dst, table []float32, ids indices, lo, hi int) {
	if ids.v.typ.DType == tensor.Int32 {
		for r, id := range view[int32](ids.v)[lo:hi] {
			dst[lo+r] = table[id]
		}
		return
	}
	for r, id := range view[int64](ids.v)[lo:hi] {
		dst[lo+r] = table[id]
	}
}

// elementsAfter returns the number of elements of x after the axis.
func elementsAfter(x *value, axis int) int {
	n := 1
	for _, d := range x.dims[axis+1:] {
		n *= d
	}
	return n
}

// argExtreme takes a tensor and a constant axis.
func argExtreme(smallest bool) compileFunc {
	return byType(map[tensor.DType]compileFunc{tensor.Float32: argBest[float32](smallest), tensor.Float64: argBest[float64](smallest),
		tensor.Int32: argBest[int32](smallest), tensor.Int64: argBest[int64](smallest), tensor.Uint8: argBest[uint8](smallest)}, in0)
}

func argBest[T number](smallest bool) compileFunc {
	// As in TensorFlow, any element replaces a NaN, except the worst infinity.
	better := func(a, b T) bool { return a > b || b != b && float64(a) > math.Inf(-1) }
	if smallest {
		better = func(a, b T) bool { return a < b || b != b && float64(a) < math.Inf(1) }
	}
	return func(c *binding) (runFunc, error) {
		if err := c.need(2, 1); err != nil {
			return nil, err
		}
		x, out := c.in[0], c.out[0]
		axis, err := c.axis(1, len(x.dims))
		if err != nil {
			return nil, err
		}
		store, err := storeInts(out)
		if err != nil {
			return nil, err
		}
		if err := checkShape("result", out, x.typ.Shape.Dims[:axis], x.typ.Shape.Dims[axis+1:]); err != nil {
			return nil, err
		}
		do := parallel(256, func(lo, hi int) {
			data, n, inner := view[T](x), x.dims[axis], elementsAfter(x, axis)
			for r := lo; r < hi; r++ {
				at, best := r/inner*n*inner+r%inner, 0
				for k := 1; k < n; k++ {
					if better(data[at+k*inner], data[at+best*inner]) {
						best = k
					}
				}
				store(r, best)
			}
		})
		return func() error {
			if x.dims[axis] == 0 {
				return fmt.Errorf("no largest of no elements: axis %d of %v is empty", axis, x.dims)
			}
			do(out.n)
			return nil
		}, nil
	}
}

// compileTopK takes a tensor and k (not read) and gives the largest elements of each row in order, with their columns.
// Equal elements keep their order.
func compileTopK[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(1, 2); err != nil {
		return nil, err
	}
	x, values, cols := c.in[0], c.out[0], c.out[1]
	if len(x.dims) == 0 || len(values.dims) != len(x.dims) || cols.typ.DType != tensor.Int32 || !cols.typ.Shape.Equal(values.typ.Shape) {
		return nil, fmt.Errorf("input %v does not give values %v and int32 indices %v", x.typ.Shape, values.typ.Shape, cols.typ.Shape)
	}
	last := len(x.dims) - 1
	if err := errors.Join(checkTypes[T](x, values), checkShape("values", values, x.typ.Shape.Dims[:last], values.typ.Shape.Dims[last:])); err != nil {
		return nil, err
	}
	return func() error {
		rows, n := rowsCols(x)
		_, k := rowsCols(values)
		if k > n {
			return fmt.Errorf("the %d largest of rows of %d elements", k, n)
		}
		for r := range rows {
			topRow(view[T](values)[r*k:(r+1)*k], view[int32](cols)[r*k:(r+1)*k], view[T](x)[r*n:(r+1)*n])
		}
		return nil
	}, nil
}

// topRow finds the largest elements of a row: a few by insertion into a sorted list, many by sorting the row.
func topRow[T kernels.Float](best []T, at []int32, row []T) {
	if slices.ContainsFunc(row, func(v T) bool { return v != v }) {
		topn.Row(best, at, row)
		return
	}
	if len(best) > fewBest {
		topSorted(best, at, row)
		return
	}
	n := 0
	for i, e := range row {
		if n == len(best) && (n == 0 || !(e > best[n-1])) {
			continue
		}
		if n < len(best) {
			n++
		}
		j := n - 1
		for ; j > 0 && e > best[j-1]; j-- {
			best[j], at[j] = best[j-1], at[j-1]
		}
		best[j], at[j] = e, int32(i)
	}
}

// fewBest is the largest k for which topRow inserts.
const fewBest = 32

func topSorted[T kernels.Float](best []T, at []int32, row []T) {
	order := make([]int32, len(row))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(row[b], row[a]) })
	for i := range best {
		best[i], at[i] = row[order[i]], order[i]
	}
}

// compileInTopK takes predictions [n,classes], targets [n] and the scalar k: fewer than k classes are predicted more
// strongly than the target, and the target's prediction is finite.
func compileInTopK[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	targets, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	k, err := c.integers(2)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkTypes[T](x), checkRank("k", k.v, 0), checkRank("predictions", x, 2)); err != nil {
		return nil, err
	}
	if out.typ.DType != tensor.Bool || !out.typ.Shape.Equal(graph.Shape{Dims: x.typ.Shape.Dims[:1]}) || !targets.v.typ.Shape.Equal(out.typ.Shape) {
		return nil, fmt.Errorf("predictions %v and targets %v do not give %v", x.typ.Shape, targets.v.typ.Shape, out.typ.Shape)
	}
	return func() error {
		n := x.dims[1]
		for r := range x.dims[0] {
			row := view[T](x)[r*n : (r+1)*n]
			view[bool](out)[r] = inTop(row, targets.at(r), k.at(0))
		}
		return nil
	}, nil
}

func inTop[T kernels.Float](row []T, target, k int) bool {
	if target < 0 || target >= len(row) || math.IsNaN(float64(row[target])) || math.IsInf(float64(row[target]), 0) {
		return false
	}
	stronger := 0
	for _, e := range row {
		if e-e != 0 { // TensorFlow counts a row with a NaN or infinity as a miss
			return false
		}
		if e > row[target] {
			stronger++
		}
	}
	return stronger < k
}
