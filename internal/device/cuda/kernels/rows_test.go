package kernels_test

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/device/cuda/kernels"
	host "github.com/goestimator/goestimator/internal/kernels"
)

func TestRowsOfTables(t *testing.T) {
	r := newRig(t, "rows")
	const rows, cols = 50, 7
	table, ids := numbers(1, rows*cols), []int32{3, 49, 3, -1, 0, 3, 49}
	data := numbers(2, len(ids)*cols)
	l := kernels.Lookup{Table: up(r, table), IDs: up(r, ids), Data: r.alloc(4 * len(data)), Fault: up(r, []int64{0}), Count: len(ids), Rows: rows, Cols: cols}
	r.run(l.Gather())
	want := make([]float32, len(data))
	for i, id := range ids {
		if id >= 0 {
			copy(want[i*cols:][:cols], table[int(id)*cols:])
		}
	}
	near(t, "gather", want, down[float32](r, l.Data, len(data)), 0)

	l.Data = up(r, data)
	order, starts := kernels.Sort(ids, nil, nil)
	if !slices.Equal(order, []int32{3, 4, 0, 2, 5, 1, 6}) || !slices.Equal(starts, []int32{0, 1, 2, 5, 7}) {
		t.Fatalf("got order %v, starts %v", order, starts)
	}
	r.run(l.Scatter(kernels.Segments{Order: up(r, order), Starts: up(r, starts), Count: len(starts) - 1}, 1))
	host.ScatterRows(host.Add, table, data, ids, cols)
	near(t, "scatter", table, down[float32](r, l.Table, len(table)), 0)

	wide := []int64{1, int64(rows), 2}
	l.IDs, l.Int64, l.Count = up(r, wide), true, len(wide)
	r.run(l.Gather())
	if f := down[int64](r, l.Fault, 1)[0]; f != 2 {
		t.Errorf("an id beyond the table at place 1: expected fault 2, got %d", f)
	}
}
