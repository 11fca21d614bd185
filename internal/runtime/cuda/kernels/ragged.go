package kernels

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Ragged is N values of Examples examples: example e owns the values from Offsets[e] to Offsets[e+1]-1.
type Ragged struct {
	IDs         driver.Ptr // [N], int32 or int64; values of negative ids are padding
	Int64       bool       // of IDs
	Offsets     driver.Ptr // [Examples+1] int64
	N, Examples int
	Fault       Fault
}

// Check records a fault if offsets do not start at 0, decrease, or go beyond N: the offset, its place and, as size, -1-N.
func (r Ragged) Check() Call {
	grid, block := over(r.Examples + 1)
	return call("check_offsets", grid, block, r.Offsets, r.Fault.Record, r.Fault.Operation, r.Examples, r.N)
}

// RowNumbers sets out [N] (int32) to the example of each value, -1 for padding.
func (r Ragged) RowNumbers(out driver.Ptr) Call {
	grid, block := over(r.N)
	return call("row_numbers"+intSuffix(r.Int64), grid, block, out, r.IDs, r.Offsets, r.Examples, r.N)
}

// Combine sums rows of cols float32 by example into out [Examples, cols]. rows is [N, cols] or, if table is not 0, a table of that
// many rows, which the ids name. Each row is multiplied by its weight; weights may be 0 for none.
func (r Ragged) Combine(out, rows, weights driver.Ptr, table, cols int) Call {
	grid, block := over(r.Examples * cols)
	return call("combine"+intSuffix(r.Int64), grid, block, out, rows, r.IDs, r.Offsets, weights, r.Fault.Record, r.Fault.Operation, r.Examples, r.N, table, cols)
}

// Spread sets out [N, cols] to each value's example's row of rows [Examples, cols], and to zeros for padding.
func (r Ragged) Spread(out, rows driver.Ptr, cols int) Call {
	grid, block := over(r.N * cols)
	return call("spread"+intSuffix(r.Int64), grid, block, out, rows, r.IDs, r.Offsets, r.Examples, r.N, cols)
}

// Dense sets out [Examples, m] to the first m values of each example and, after them, to the element at none. Elements have size
// bytes: 1, 2, 4 or 8.
func (r Ragged) Dense(out, values, none driver.Ptr, size, m int) Call {
	grid, block := over(r.Examples * m)
	return call(fmt.Sprintf("ragged_dense_%d", size), grid, block, out, values, none, r.Offsets, r.Examples, r.N, m)
}

// UpperBound sets out [rows, k] for each of values [rows, k] to the number of elements of its row of sorted [rows, m] that are not
// greater. out is int64 if wide is set, else int32.
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
