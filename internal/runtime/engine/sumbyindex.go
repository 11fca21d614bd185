package engine

import (
	"errors"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// sumByIndexOps sum rows of equal index (see graph.SumByIndex).
var sumByIndexOps = map[*ops.Def]opDef{
	ops.SumByIndex: {compile: floats(compileSumByIndex[float32], compileSumByIndex[float64])},
}

func compileSumByIndex[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(2, 2); err != nil {
		return nil, err
	}
	ids, err := c.integers(1)
	if err != nil {
		return nil, err
	}
	x, rows, indices, size := c.in[0], c.out[0], c.out[1], c.node.Int("rows", -1)
	if x.typ.Shape.Rank() < 1 || size < 0 {
		return nil, fmt.Errorf("expected rows [n, ...] of a table, got %v of %d", x.typ.Shape, size)
	}
	if err := errors.Join(checkTypes[T](x, rows), checkSame(ids.v, indices), checkShape("indices", ids.v, x.typ.Shape.Dims[:1]),
		checkShape("sums", rows, x.typ.Shape.Dims), checkShape("result", indices, x.typ.Shape.Dims[:1])); err != nil {
		return nil, err
	}
	from := &rowUpdate{ids, x, int(size)}
	u := &uniqueRows[T]{}
	var first []int32 // the first place of each distinct index
	do := parallel(256, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			copy(view[T](rows)[int(first[k])*u.width:][:u.width], u.sum(k))
		}
	})
	c.onBatch = func() error { u.prepare(from); return nil }
	return func() error {
		if err := u.collect(from); err != nil {
			return err
		}
		if indices.typ.DType == tensor.Int32 {
			first = firstPlaces(view[int32](indices), view[int32](ids.v), u.ids, first)
		} else {
			first = firstPlaces(view[int64](indices), view[int64](ids.v), u.ids, first)
		}
		clear(view[T](rows))
		do(len(u.ids))
		return nil
	}, nil
}

// firstPlaces finds the first place in ids of each distinct index; distinct is in the
// order of appearance. At these places dst gets the index, elsewhere -1.
func firstPlaces[I int32 | int64](dst, ids []I, distinct []int64, places []int32) []int32 {
	places = places[:0]
	for i, id := range ids {
		dst[i] = -1
		if k := len(places); k < len(distinct) && int64(id) == distinct[k] {
			dst[i] = id
			places = append(places, int32(i))
		}
	}
	return places
}
