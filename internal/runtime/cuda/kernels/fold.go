package kernels

import (
	_ "embed"
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	host "github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

//go:embed src/fold.cu
var foldSource string

// suffixes name the kernels of an element type.
var suffixes = map[tensor.DType]string{tensor.Float32: "f32", tensor.Float64: "f64", tensor.BFloat16: "bf16", tensor.Int32: "i32", tensor.Int64: "i64",
	tensor.Bool: "bool", tensor.Uint8: "u8"}

// foldKernels describes src/fold.cu.
func foldKernels() (all []Kernel) {
	for _, t := range []string{"f32", "f64", "bf16", "i32", "i64", "bool"} {
		all = append(all, Kernel{"fold_" + t, "ppll" + "llllllllllllllll" + "iif"})
	}
	for _, t := range []string{"f32", "f64", "i32", "i64", "u8"} {
		all = append(all, Kernel{"arg_" + t + "_i32", "pplll" + "i"}, Kernel{"arg_" + t + "_i64", "pplll" + "i"})
	}
	for _, t := range []string{"f32", "f64", "i32", "i64"} {
		all = append(all, Kernel{"range_" + t, "pppl"})
	}
	return all
}

// Fold reduces X over any of its dimensions. For bool, ReduceMin is All and ReduceMax is Any.
type Fold struct {
	Op      host.ReduceOp
	Type    tensor.DType
	Dst, X  driver.Ptr
	Sizes   []int   // X's sizes
	Reduced []bool  // which dimensions are reduced
	Scale   float32 // factor of a sum of squares
}

// CanFold reports whether there is a kernel for an element type.
func CanFold(d tensor.DType) bool { return suffixes[d] != "" && d != tensor.Uint8 }

// foldRank is the most runs of kept or of reduced dimensions.
const foldRank = 4

// Call returns the launch. It fails if kept and reduced dimensions alternate too often for the kernel.
func (f Fold) Call() (Call, error) {
	var sizes, steps [2][]int // kept, reduced; innermost first
	counts, step, last := [2]int{1, 1}, 1, -1
	for i := len(f.Sizes) - 1; i >= 0; i-- {
		n, of := f.Sizes[i], 0
		if f.Reduced[i] {
			of = 1
		}
		counts[of] *= n
		switch {
		case n == 1:
		case of == last:
			sizes[of][len(sizes[of])-1] *= n
		default:
			sizes[of], steps[of], last = append(sizes[of], n), append(steps[of], step), of
		}
		step *= n
	}
	args := []any{f.Dst, f.X, counts[0], counts[1]}
	for of := range sizes {
		if len(sizes[of]) > foldRank {
			return Call{}, fmt.Errorf("reduction of %v: expected at most %d runs of dimensions", f.Sizes, foldRank)
		}
		for _, list := range [][]int{sizes[of], steps[of]} {
			for k := foldRank - 1; k >= 0; k-- {
				v := 1
				if k < len(list) {
					v = list[k]
				}
				args = append(args, v)
			}
		}
	}
	group := 32
	if counts[1] > narrowRow {
		group = blockThreads
	}
	blocks := ceilDiv(counts[0], blockThreads/group)
	args = append(args, int32(f.Op), int32(group), f.Scale)
	return call("fold_"+suffixes[f.Type], driver.Dim{X: max(1, min(blocks, maxBlocks))}, driver.Dim{X: blockThreads}, args...), nil
}

// ArgBest finds the index of the largest or smallest element along N of X [Outer, N, Inner].
type ArgBest struct {
	Type            tensor.DType
	Dst, X          driver.Ptr
	Outer, N, Inner int
	Int64           bool // Dst is int64, else int32
	Smallest        bool
}

// CanArg reports whether there is a kernel for an element type.
func CanArg(d tensor.DType) bool {
	return suffixes[d] != "" && d != tensor.BFloat16 && d != tensor.Bool
}

// Call is the launch.
func (a ArgBest) Call() Call {
	grid, block := over(a.Outer * a.Inner)
	return call("arg_"+suffixes[a.Type]+intSuffix(a.Int64), grid, block, a.Dst, a.X, a.Outer, a.N, a.Inner, flag(a.Smallest))
}

// CanRange reports whether Range has a kernel for an element type.
func CanRange(d tensor.DType) bool {
	return d == tensor.Float32 || d == tensor.Float64 || d == tensor.Int32 || d == tensor.Int64
}

// Range sets dst to start + i*delta, which are on the GPU.
func Range(d tensor.DType, dst, start, delta driver.Ptr, n int) Call {
	grid, block := over(n)
	return call("range_"+suffixes[d], grid, block, dst, start, delta, n)
}
