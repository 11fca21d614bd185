package kernels

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Ragged is N values of Examples examples: example e owns those from Offsets[e] to Offsets[e+1]-1.
type Ragged struct {
	IDs         driver.Ptr // [N], int32 or int64; values of negative ids are padding
	Int64       bool       // of IDs
	Offsets     driver.Ptr // [Examples+1] int64
	N, Examples int
	Fault       Fault
}

// Check notes a fault where offsets do not start at 0, fall, or go beyond N: the offset, its place and, as size, -1-N.
func (r Ragged) Check() Call {
	grid, block := over(r.Examples + 1)
	return call("check_offsets", grid, block, r.Offsets, r.Fault.Record, r.Fault.Operation, r.Examples, r.N)
}

// RowNumbers sets out [N] (int32) to the example of each value, -1 for padding.
func (r Ragged) RowNumbers(out driver.Ptr) Call {
	grid, block := over(r.N)
	return call("row_numbers"+intSuffix(r.Int64), grid, block, out, r.IDs, r.Offsets, r.Examples, r.N)
}

// Combine sums rows of cols float32 by example into out [Examples, cols]: rows [N, cols], or the rows of a table of so many rows
// that the ids name, each times its weight; weights may be 0.
func (r Ragged) Combine(out, rows, weights driver.Ptr, table, cols int) Call {
	grid, block := over(r.Examples * cols)
	return call("combine"+intSuffix(r.Int64), grid, block, out, rows, r.IDs, r.Offsets, weights, r.Fault.Record, r.Fault.Operation, r.Examples, r.N, table, cols)
}

// Spread sets out [N, cols] to the row [Examples, cols] of each value's example, zeros for padding.
func (r Ragged) Spread(out, rows driver.Ptr, cols int) Call {
	grid, block := over(r.N * cols)
	return call("spread"+intSuffix(r.Int64), grid, block, out, rows, r.IDs, r.Offsets, r.Examples, r.N, cols)
}

// Dense sets out [Examples, m] to the first m values of each example and, behind them, to the element at none. Elements have size
// bytes: 1, 2, 4 or 8.
func (r Ragged) Dense(out, values, none driver.Ptr, size, m int) Call {
	grid, block := over(r.Examples * m)
	return call(fmt.Sprintf("ragged_dense_%d", size), grid, block, out, values, none, r.Offsets, r.Examples, r.N, m)
}

// UpperBound sets out [rows, k], int64 where wide, else int32, to how many of the sorted row [rows, m] are not greater than each
// of values [rows, k].
func UpperBound(t Element, out, sorted, values driver.Ptr, wide bool, rows, m, k int) Call {
	grid, block := over(rows * k)
	return call("upper_bound_"+string(t)+intSuffix(wide), grid, block, out, sorted, values, rows, m, k)
}

// raggedKernels describes src/ragged.cu.
func raggedKernels() []Kernel {
	all := []Kernel{{"check_offsets", "pplll"}}
	for _, size := range []int{1, 2, 4, 8} {
		all = append(all, Kernel{fmt.Sprintf("ragged_dense_%d", size), "pppplll"})
	}
	for _, i := range []string{"_i32", "_i64"} {
		all = append(all, Kernel{"row_numbers" + i, "pppll"}, Kernel{"combine" + i, "ppppppl" + "llll"}, Kernel{"spread" + i, "pppplll"})
		for _, t := range []Element{Float32, Float64, Int32, Int64} {
			all = append(all, Kernel{"upper_bound_" + string(t) + i, "ppplll"})
		}
	}
	return all
}
