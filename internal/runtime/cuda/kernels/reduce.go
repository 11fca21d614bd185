package kernels

import (
	"math"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
)

const (
	narrowRow   = 1024      // most elements of a row that a warp does
	tileColumns = 32        // of a block of 32 x 8
	tileRows    = 8         //
	enoughWork  = 1 << 12   // least elements of a part of a split reduction
	enough      = 2 * 132   // blocks that fill a large GPU
	maxParts    = 256       // of a split reduction
	maxGridZ    = 65535 / 2 // the kernel's loop does the rest
)

// Reduction reduces the middle of X [Outer, N, Inner] into Dst [Outer, Inner].
type Reduction struct {
	Op              host.ReduceOp
	Dst, X          driver.Ptr
	Scratch         driver.Ptr // ScratchBytes of memory
	Half            bool       // multiply by one half (L2Loss)
	Outer, N, Inner int
	XHalf, DstHalf  bool // bfloat16; else float32
}

// columns reports whether the reduction goes by columns. With an Inner of 1 it goes along rows.
func (r Reduction) columns() bool { return r.Inner > 1 }

// parts returns the number of partial results, enough to fill a GPU. It depends only on the sizes.
func (r Reduction) parts() int {
	blocks := ceilDiv(max(r.Outer, 1), warpRows)
	if r.N > narrowRow {
		blocks = r.Outer
	}
	if r.columns() {
		blocks = ceilDiv(r.Inner, tileColumns) * r.Outer
	}
	work := r.N
	if r.columns() {
		work = r.N * tileColumns
	}
	return max(1, min(ceilDiv(enough, max(blocks, 1)), work/enoughWork, maxParts))
}

// ScratchBytes returns the bytes of scratch memory for the reduction, 0 for none.
func (r Reduction) ScratchBytes() int {
	if p := r.parts(); p > 1 {
		return 4 * p * r.Outer * r.Inner
	}
	return 0
}

// Calls returns the launches: one, or two if the work is split into parts.
func (r Reduction) Calls() []Call {
	op, scale := r.Op, float32(1)
	if op == host.ReduceMean {
		op, scale = host.ReduceSum, float32(1/float64(r.N))
		if r.N == 0 {
			scale = float32(math.NaN())
		}
	}
	if r.Half {
		scale *= 0.5
	}
	parts := r.parts()
	if parts == 1 {
		return []Call{r.stage(op, r.Dst, scale, 1)}
	}
	first, second := r, Reduction{Op: op, X: r.Scratch, Outer: 1, N: parts, Inner: r.Outer * r.Inner, DstHalf: r.DstHalf}
	first.DstHalf = false
	if op == host.ReduceSumSquares {
		second.Op = host.ReduceSum
	}
	return []Call{first.stage(op, r.Scratch, 1, parts), second.stage(second.Op, r.Dst, scale, 1)}
}

func (r Reduction) stage(op host.ReduceOp, dst driver.Ptr, scale float32, parts int) Call {
	if r.columns() {
		grid := driver.Dim{X: max(1, ceilDiv(r.Inner, tileColumns)), Y: parts, Z: max(1, min(r.Outer, maxGridZ))}
		return call("reduce_columns"+r.types(), grid, driver.Dim{X: tileColumns, Y: tileRows}, dst, r.X, r.Outer, r.N, r.Inner, int32(op), scale)
	}
	kernel, grid := byRows("reduce_rows", r.Outer, r.N)
	grid.Y = parts
	return call(kernel+r.types(), grid, driver.Dim{X: blockThreads}, dst, r.X, r.Outer, r.N, int32(op), scale)
}

// types returns the suffix of a kernel's name: the types of the result and of the elements.
func (r Reduction) types() string {
	name := map[bool]string{false: "_f32", true: "_bf16"}
	if !r.XHalf && !r.DstHalf {
		return ""
	}
	return name[r.DstHalf] + name[r.XHalf]
}

// reduceKernels describes src/reduce.cu.
func reduceKernels() (all []Kernel) {
	for _, t := range []string{"", "_f32_bf16", "_bf16_f32", "_bf16_bf16"} {
		all = append(all, Kernel{"reduce_rows_warp" + t, "ppllif"}, Kernel{"reduce_rows_block" + t, "ppllif"}, Kernel{"reduce_columns" + t, "pplllif"})
	}
	return all
}

// byRows chooses the kernel for rows of n elements: a warp for each row, or a block for each long row.
func byRows(name string, rows, n int) (kernel string, grid driver.Dim) {
	if n <= narrowRow {
		return name + "_warp", driver.Dim{X: max(1, min(ceilDiv(rows, warpRows), maxBlocks))}
	}
	return name + "_block", driver.Dim{X: max(1, min(rows, maxBlocks))}
}
