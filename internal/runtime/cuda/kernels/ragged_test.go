package kernels_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/runtime/cuda/kernels"
)

func TestRagged(t *testing.T) {
	r := newRig(t, "ragged")
	const cols, table = 3, 8
	offsets, ids, weights := []int64{0, 2, 2, 5}, []int32{1, 7, -1, 0, 7, -1, -1}, numbers(3, 7)
	rows, values := numbers(1, table*cols), numbers(2, len(ids)*cols)
	g := kernels.Ragged{IDs: up(r, ids), Offsets: up(r, offsets), N: len(ids), Examples: 3, Fault: kernels.Fault{Record: faults(r)}}
	sum := func(rows []float32, byID bool, weights []float32) []float32 {
		out := make([]float32, 3*cols)
		for e := range 3 {
			for k := offsets[e]; k < offsets[e+1]; k++ {
				at, w := int(k), float32(1)
				if byID {
					at = int(ids[k])
				}
				if ids[k] < 0 {
					continue
				}
				if weights != nil {
					w = weights[k]
				}
				for c := range cols {
					out[e*cols+c] += w * rows[at*cols+c]
				}
			}
		}
		return out
	}
	out := r.alloc(4 * 3 * cols)
	r.run(g.Check(), g.Combine(out, up(r, rows), 0, table, cols))
	near(t, "rows of a table", sum(rows, true, nil), down[float32](r, out, 3*cols), 1e-6)
	r.run(g.Combine(out, up(r, values), up(r, weights), 0, cols))
	near(t, "weighted values", sum(values, false, weights), down[float32](r, out, 3*cols), 1e-6)

	number := r.alloc(4 * len(ids))
	r.run(g.RowNumbers(number))
	if got := down[int32](r, number, len(ids)); !slices.Equal(got, []int32{0, 0, -1, 2, 2, -1, -1}) {
		t.Errorf("row numbers: got %v", got)
	}
	spread := r.alloc(4 * len(ids) * cols)
	r.run(g.Spread(spread, up(r, rows), cols))
	want := make([]float32, len(ids)*cols)
	for k, e := range []int{0, 0, -1, 2, 2, -1, -1} {
		if e >= 0 {
			copy(want[k*cols:][:cols], rows[e*cols:])
		}
	}
	near(t, "spread", want, down[float32](r, spread, len(want)), 0)

	dense := r.alloc(4 * 3 * 2)
	r.run(g.Dense(dense, up(r, ids), up(r, []int32{-9}), 4, 2))
	if got := down[int32](r, dense, 6); !slices.Equal(got, []int32{1, 7, -9, -9, -1, 0}) {
		t.Errorf("dense: got %v", got)
	}
	if f := down[int64](r, g.Fault.Record, 1)[0]; f != 0 {
		t.Errorf("good ids and offsets: got fault %d", f)
	}
}

func TestRaggedFaults(t *testing.T) {
	r := newRig(t, "ragged")
	for _, c := range []struct {
		offsets []int64
		want    []int64
	}{{[]int64{0, 3, 2, 5}, []int64{8, 2, 2, -6}}, {[]int64{0, 3, 4, 6}, []int64{8, 6, 3, -6}}, {[]int64{1, 3, 4, 5}, []int64{8, 1, 0, -6}}} {
		g := kernels.Ragged{Offsets: up(r, c.offsets), N: 5, Examples: 3, Fault: kernels.Fault{Record: faults(r), Operation: 7}}
		r.run(g.Check())
		if got := down[int64](r, g.Fault.Record, 4); !slices.Equal(got, c.want) {
			t.Errorf("offsets %v of 5 values: expected fault %v, got %v", c.offsets, c.want, got)
		}
	}
	g := kernels.Ragged{IDs: up(r, []int64{2, 4}), Int64: true, Offsets: up(r, []int64{0, 2}), N: 2, Examples: 1, Fault: kernels.Fault{Record: faults(r), Operation: 1}}
	r.run(g.Combine(r.alloc(4), up(r, numbers(1, 4)), 0, 4, 1))
	if got := down[int64](r, g.Fault.Record, 4); !slices.Equal(got, []int64{2, 4, 1, 4}) {
		t.Errorf("id 4 at place 1 of a table of 4: got fault %v", got)
	}
}

func TestUpperBound(t *testing.T) {
	r := newRig(t, "ragged")
	out := r.alloc(8 * 6)
	r.run(kernels.UpperBound(kernels.Float32, out, up(r, []float32{1, 2, 2, 0, 0, 9}), up(r, []float32{2, 0, 3, 0, -1, 8}), true, 2, 3, 3))
	if got := down[int64](r, out, 6); !slices.Equal(got, []int64{3, 0, 3, 2, 0, 2}) {
		t.Errorf("got %v", got)
	}
}
