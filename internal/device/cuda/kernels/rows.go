package kernels

import (
	"cmp"
	"slices"

	"github.com/goestimator/goestimator/internal/device/cuda/driver"
)

// Lookup is rows of a Table [Rows, Cols] named by Count ids.
type Lookup struct {
	Table driver.Ptr
	IDs   driver.Ptr // [Count] int32, or int64
	Data  driver.Ptr // [Count, Cols]: written by Gather, read by Scatter
	Fault driver.Ptr // int64, set to 1 + the place of an id that is no row
	Int64 bool
	Count int
	Rows  int
	Cols  int
}

// Gather copies the rows to Data; negative ids give zeros.
func (l Lookup) Gather() Call {
	grid, block := over(l.Count * l.Cols)
	return call("gather_rows"+intSuffix(l.Int64), grid, block, l.Data, l.Table, l.IDs, l.Fault, l.Count, l.Rows, l.Cols)
}

// Segments is the ids of a lookup in order, as Sort makes it.
type Segments struct {
	Order  driver.Ptr // [Count] int32
	Starts driver.Ptr // [Count+1] int32
	Count  int        // distinct ids
}

// Scatter adds alpha times each row of Data to the table, equal ids in their order; negative ids are skipped.
func (l Lookup) Scatter(s Segments, alpha float32) Call {
	grid, block := over(s.Count * l.Cols)
	return call("scatter_rows"+intSuffix(l.Int64), grid, block, l.Table, l.Data, l.IDs, s.Order, s.Starts, l.Fault, s.Count, l.Rows, l.Cols, alpha)
}

// Sort orders ids on the host for Scatter: order is the places of the ids by value, equal ones in their order; each distinct
// id begins at a start, and the last start is the end. The slices are reused where they are long enough.
func Sort[I int32 | int64](ids []I, order, starts []int32) (o, s []int32) {
	order, starts = order[:0], starts[:0]
	for i := range ids {
		order = append(order, int32(i))
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	for k, i := range order {
		if k == 0 || ids[i] != ids[order[k-1]] {
			starts = append(starts, int32(k))
		}
	}
	return order, append(starts, int32(len(order)))
}
