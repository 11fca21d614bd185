package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// raggedOps work on values of examples of different lengths: example i owns values offsets[i] to offsets[i+1]-1.
// fuseRagged makes the ops whose names begin with _.
var raggedOps = map[*ops.Def]opDef{
	ops.UpperBound:           {compile: byType(map[tensor.DType]compileFunc{tensor.Int32: upperBound[int32], tensor.Int64: upperBound[int64], tensor.Float32: upperBound[float32], tensor.Float64: upperBound[float64]}, in0)},
	ops.RaggedTensorToTensor: {compile: raggedToTensor},
	ops.RowNumbers:           {compile: compileRowNumbers},
	ops.RaggedCombine:        {compile: floats(compileCombine[float32], compileCombine[float64])},
	ops.RaggedSpread:         {compile: floats(compileSpread[float32], compileSpread[float64])},
}

// upperBound takes sorted rows [n,m] and values [n,k]. For each value it gives the number of elements of the row that are
// not greater. Sorted values cost a single pass.
func upperBound[T number](c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	sorted, values, out := c.in[0], c.in[1], c.out[0]
	store, err := storeInts(out)
	err = errors.Join(err, checkTypes[T](sorted, values), checkRank("sorted_inputs", sorted, 2), checkRank("values", values, 2))
	if err == nil {
		err = errors.Join(checkShape("values", values, sorted.typ.Shape.Dims[:1], values.typ.Shape.Dims[1:]), checkShape("result", out, values.typ.Shape.Dims))
	}
	if err != nil {
		return nil, err
	}
	return func() error {
		m, k := sorted.dims[1], values.dims[1]
		for r := range sorted.dims[0] {
			row, at := view[T](sorted)[r*m:(r+1)*m], 0
			for i, v := range view[T](values)[r*k : (r+1)*k] {
				if at > 0 && row[at-1] > v {
					at = 0
				}
				for at < m && !(row[at] > v) {
					at++
				}
				store(r*k+i, at)
			}
		}
		return nil
	}, nil
}

// offsets returns input i as the offsets of rows examples: int64 [rows+1].
func (c *binding) offsets(i int, rows graph.Dim) (*value, error) {
	v := c.in[i]
	rows.Const++
	if v.typ.DType != tensor.Int64 || !v.typ.Shape.Equal(graph.Shape{Dims: []graph.Dim{rows}}) {
		return nil, fmt.Errorf("input %d: expected offsets int64 [%v], got %v %v", i, rows, v.typ.DType, v.typ.Shape)
	}
	return v, nil
}

// checkOffsets fails unless the offsets divide n values.
func checkOffsets(offsets []int64, n int) error {
	last := int64(0)
	for i, o := range offsets {
		if o < last || o > int64(n) || i == 0 && o != 0 {
			return fmt.Errorf("offset %d is %d: expected offsets from 0 on that do not fall, at most %d", i, o, n)
		}
		last = o
	}
	return nil
}

// oneEach reports whether each example owns one of n values, as for a feature with a single value.
func oneEach(offsets []int64, n int) bool {
	if len(offsets) != n+1 {
		return false
	}
	for i, o := range offsets {
		if o != int64(i) {
			return false
		}
	}
	return true
}

// raggedToTensor takes shape (not read), values [n], a default value and row_splits, and gives [rows, m]: the first m
// values of each example.
func raggedToTensor(c *binding) (runFunc, error) {
	if err := c.need(4, 1); err != nil {
		return nil, err
	}
	if k, ok := c.node.Attrs["row_partition_types"].([][]byte); !ok || len(k) != 1 || string(k[0]) != "ROW_SPLITS" || len(c.in) != 4 {
		return nil, fmt.Errorf("expected one row partition of the type ROW_SPLITS, got %q", k)
	}
	x, none, out := c.in[1], c.in[2], c.out[0]
	if err := errors.Join(checkRank("values", x, 1), checkRank("default_value", none, 0), checkRank("result", out, 2), checkSame(x, none), checkSame(x, out)); err != nil {
		return nil, err
	}
	splits, err := c.offsets(3, out.typ.Shape.Dims[0])
	if err != nil {
		return nil, err
	}
	fill, err := filler(c, out, 2)
	if err != nil {
		return nil, err
	}
	return func() error {
		at := view[int64](splits)
		if err := checkOffsets(at, x.n); err != nil {
			return err
		}
		fill()
		m := out.dims[1]
		for r := range out.dims[0] {
			n := min(int(at[r+1]-at[r]), m)
			copy(out.mem[r*m*out.elem:][:n*out.elem], x.mem[int(at[r])*x.elem:])
		}
		return nil
	}, nil
}

// compileRowNumbers takes ids [n] and offsets and gives the example of each value, -1 where the id is negative.
func compileRowNumbers(c *binding) (runFunc, error) {
	if err := c.need(2, 1); err != nil {
		return nil, err
	}
	ids, err := c.integers(0)
	if err != nil {
		return nil, err
	}
	offsets, out := c.in[1], c.out[0]
	if err := errors.Join(checkTypes[int32](out), checkTypes[int64](offsets), checkRank("offsets", offsets, 1), checkShape("result", out, ids.v.typ.Shape.Dims)); err != nil {
		return nil, err
	}
	return func() error {
		if err := checkOffsets(view[int64](offsets), ids.v.n); err != nil {
			return err
		}
		if ids.v.typ.DType == tensor.Int32 {
			numberRows(view[int32](out), view[int32](ids.v), view[int64](offsets))
		} else {
			numberRows(view[int32](out), view[int64](ids.v), view[int64](offsets))
		}
		return nil
	}, nil
}

func numberRows[I int32 | int64](dst []int32, ids []I, offsets []int64) {
	for r := range len(offsets) - 1 {
		part := dst[offsets[r]:offsets[r+1]]
		for p, id := range ids[offsets[r]:offsets[r+1]] {
			part[p] = int32(r) | int32(int64(id)>>63) // -1 for a negative id
		}
	}
	rest := dst[offsets[len(offsets)-1]:]
	for i := range rest {
		rest[i] = -1
	}
}

// compileSpread takes rows [rows, ...], ids [n] and offsets and gives every value its example's row. Values with negative
// ids, and values after the last example, get zeros.
func compileSpread[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	x, out := c.in[0], c.out[0]
	ids, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkTypes[T](x, out), checkRank("ids", ids.v, 1)); err != nil || len(x.dims) == 0 {
		return nil, errors.Join(err, fmt.Errorf("expected rows [n, ...], got %v", x.typ.Shape))
	}
	if err := checkShape("result", out, ids.v.typ.Shape.Dims, x.typ.Shape.Dims[1:]); err != nil {
		return nil, err
	}
	offsets, err := c.offsets(2, x.typ.Shape.Dims[0])
	if err != nil {
		return nil, err
	}
	do := parallel(64, func(lo, hi int) {
		at, n := view[int64](offsets), elementsAfter(x, 0)
		for r := lo; r < hi; r++ {
			part := view[T](out)[int(at[r])*n : int(at[r+1])*n]
			if ids.v.typ.DType == tensor.Int32 {
				spreadRow(part, view[T](x)[r*n:(r+1)*n], view[int32](ids.v)[at[r]:at[r+1]])
			} else {
				spreadRow(part, view[T](x)[r*n:(r+1)*n], view[int64](ids.v)[at[r]:at[r+1]])
			}
		}
	})
	return func() error {
		at := view[int64](offsets)
		if x.n <= cheapGrain && oneEach(at, ids.v.n) {
			copy(out.bytes(), x.bytes())
			ids.clearNegative(out)
			return nil
		}
		if err := checkOffsets(at, ids.v.n); err != nil {
			return err
		}
		do(x.dims[0])
		clear(view[T](out)[int(at[len(at)-1])*elementsAfter(x, 0):])
		return nil
	}, nil
}

// spreadRow repeats row x for each id, zeros for a negative one.
func spreadRow[T kernels.Float, I int32 | int64](dst, x []T, ids []I) {
	if len(x) == 1 {
		v := x[0]
		for i, id := range ids {
			if dst[i] = v; id < 0 {
				dst[i] = 0
			}
		}
		return
	}
	for i, id := range ids {
		if to := dst[i*len(x) : (i+1)*len(x)]; id >= 0 {
			copy(to, x)
		} else {
			clear(to)
		}
	}
}

// gatherPadded is GatherV2 along axis 0 with zeros for negative indices.
func gatherPadded(x, out *value, ids indices, axis int) (runFunc, error) {
	if axis != 0 {
		return nil, fmt.Errorf("%s: expected axis 0, got %d", graph.NegativeGivesZeros, axis)
	}
	do := parallel(64, func(lo, hi int) {
		inner := elementsAfter(x, 0) * x.elem
		if inner == 4 && x.typ.DType == tensor.Float32 && ids.v.typ.DType == tensor.Int32 {
			scalarsOrZero(view[float32](out)[lo:hi], view[float32](x), view[int32](ids.v)[lo:hi])
			return
		}
		for r := lo; r < hi; r++ {
			to := out.mem[r*inner : (r+1)*inner]
			if id := ids.at(r); id >= 0 {
				copy(to, x.mem[id*inner:(id+1)*inner])
			} else {
				clear(to)
			}
		}
	})
	return func() error {
		if err := ids.below(x.dims[0]); err != nil {
			return err
		}
		do(ids.v.n)
		return nil
	}, checkSame(x, out)
}

func scalarsOrZero(dst, table []float32, ids []int32) {
	for i, id := range ids {
		if id >= 0 {
			dst[i] = table[id]
		} else {
			dst[i] = 0
		}
	}
}
