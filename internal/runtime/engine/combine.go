package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// compileCombine takes rows [n, ...], ids [n], offsets and optional weights [n] and gives the sum of each example's
// rows, [rows, ...]. Rows of negative ids are left out. With the attribute gather, the first input is a table, and
// the ids name its rows.
func compileCombine[T kernels.Float](c *binding) (runFunc, error) {
	if err := c.need(3, 1); err != nil {
		return nil, err
	}
	k := &combine[T]{rows: c.in[0], out: c.out[0], gather: c.node.Bool("gather")}
	var err error
	if k.ids, err = c.integers(1); err != nil {
		return nil, err
	}
	if err := errors.Join(checkTypes[T](k.rows, k.out), checkRank("ids", k.ids.v, 1)); err != nil || len(k.out.dims) == 0 || len(k.rows.dims) == 0 {
		return nil, errors.Join(err, fmt.Errorf("expected rows [n, ...], got %v", k.rows.typ.Shape))
	}
	n := k.rows.typ.Shape.Dims[:1]
	if !k.gather {
		n = k.ids.v.typ.Shape.Dims
	}
	if err := checkShape("rows", k.rows, n, k.out.typ.Shape.Dims[1:]); err != nil {
		return nil, err
	}
	if k.offsets, err = c.offsets(2, k.out.typ.Shape.Dims[0]); err != nil {
		return nil, err
	}
	if len(c.in) > 3 {
		k.weights = c.in[3]
		if err := checkTypes[T](k.weights); err != nil {
			return nil, err
		}
		c.onBatch = func() error {
			if k.weights.n != k.ids.v.n {
				return fmt.Errorf("expected %d weights, got %d", k.ids.v.n, k.weights.n)
			}
			return nil
		}
	}
	return k.step, nil
}

// combine sums the rows of each example.
type combine[T kernels.Float] struct {
	rows, out, offsets, weights *value
	ids                         indices
	gather                      bool
	single                      bool // in this run, each example has one row

	mu  sync.Mutex
	bad *IndexError // the first id that names no row
}

// fewColumns is the largest number of columns for which rows are gathered element by element.
const fewColumns = 16

// combineGrain is the number of elements that are worth a thread.
const combineGrain = 4096

func (k *combine[T]) step() error {
	k.bad, k.single = nil, false
	if oneEach(view[int64](k.offsets), k.ids.v.n) {
		k.single = k.gather && k.weights == nil && elementsAfter(k.out, 0) <= fewColumns
	} else if err := checkOffsets(view[int64](k.offsets), k.ids.v.n); err != nil {
		return err
	}
	if !k.single {
		clear(k.out.bytes())
	}
	rows := k.out.dims[0]
	each := max(k.ids.v.n*elementsAfter(k.out, 0)/max(rows, 1), 1)
	kernels.Parallel(rows, max(combineGrain/each, 1), k)
	if k.bad != nil {
		return k.bad
	}
	return nil
}

// Run sums the examples [lo, hi): it implements kernels.Task.
func (k *combine[T]) Run(lo, hi int) {
	if k.ids.v.typ.DType == tensor.Int32 {
		combineRows(k, view[int32](k.ids.v), lo, hi)
	} else {
		combineRows(k, view[int64](k.ids.v), lo, hi)
	}
}

func combineRows[T kernels.Float, I int32 | int64](k *combine[T], ids []I, lo, hi int) {
	offsets, dst, rows := view[int64](k.offsets), view[T](k.out), view[T](k.rows)
	var weights []T
	if k.weights != nil {
		weights = view[T](k.weights)
	}
	cols := elementsAfter(k.out, 0)
	if k.single {
		if i := kernels.GatherRows(dst[lo*cols:hi*cols], rows, ids[lo:hi]); i >= 0 {
			k.fail(&IndexError{int(ids[lo+i]), lo + i, k.rows.dims[0]})
		}
		return
	}
	for r := lo; r < hi; r++ {
		from, to := int(offsets[r]), int(offsets[r+1])
		some, w, sum := ids[from:to], weights, dst[r*cols:(r+1)*cols]
		if w != nil {
			w = w[from:to]
		}
		if !k.gather {
			kernels.SumRows(sum, rows[from*cols:to*cols], some, w)
			continue
		}
		if i := kernels.GatherSum(sum, rows, some, w); i >= 0 {
			k.fail(&IndexError{int(some[i]), from + i, k.rows.dims[0]})
			return
		}
	}
}

// fail keeps the error with the lowest position.
func (k *combine[T]) fail(e *IndexError) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bad == nil || e.Position < k.bad.Position {
		k.bad = e
	}
}
