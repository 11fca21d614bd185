package kernels

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
)

// Gather selects X[o, IDs[k], :] of X [Outer, N, Inner], into Out [Outer, Count, Inner].
type Gather struct {
	Out, X, IDs     driver.Ptr
	Size            int  // bytes of an element: 1, 2, 4 or 8
	Int64           bool // of IDs; else int32
	Outer, Count, N int
	Inner           int
	Each            bool // IDs are [Outer, Count]; else [Count]
	Padding         bool // negative ids give zeros; else they are faults, like ids of N or more
	Fault           Fault
}

// Call is the launch.
func (g Gather) Call() Call {
	for g.Size < widest && g.Inner%2 == 0 && int(g.Out|g.X)%(2*g.Size) == 0 {
		g.Size, g.Inner = 2*g.Size, g.Inner/2
	}
	grid, block := over(g.Outer * g.Count * g.Inner)
	return call(fmt.Sprintf("gather_%d%s", g.Size, intSuffix(g.Int64)), grid, block,
		g.Out, g.X, g.IDs, g.Fault.Record, g.Fault.Operation, g.Outer, g.Count, g.N, g.Inner, flag(g.Each), flag(g.Padding))
}

// OneHot sets Out [Outer, Depth, Inner] to the element at On where IDs [Outer, Inner] is the index in Depth, elsewhere to Off's.
type OneHot struct {
	Out, IDs, On, Off   driver.Ptr
	Size                int  // bytes of an element: 1, 4 or 8
	Int64               bool // of IDs; else int32
	Outer, Depth, Inner int
}

// Call is the launch.
func (h OneHot) Call() Call {
	grid, block := over(h.Outer * h.Depth * h.Inner)
	return call(fmt.Sprintf("one_hot_%d%s", h.Size, intSuffix(h.Int64)), grid, block, h.Out, h.IDs, h.On, h.Off, h.Outer, h.Depth, h.Inner)
}

// TopK finds the k largest elements of each row of x [rows, n], n >= k, in order, with their columns (int32). Equal elements keep
// their order. For rows with NaN the result is undefined.
func TopK(values, columns, x driver.Ptr, rows, n, k int) Call {
	return call("top_k", driver.Dim{X: max(1, min(rows, maxBlocks))}, driver.Dim{X: blockThreads}, values, columns, x, rows, n, k)
}

// InTopK reports for each row of predictions x [rows, n] whether fewer than k predictions are above the target's. k is in memory
// of the GPU. targets and k are int64 if wide is set, else int32. A row with a NaN or an infinity, or a target that is no class,
// gives false.
func InTopK(out, x, targets, k driver.Ptr, wide bool, rows, n int) Call {
	return call("in_top_k"+intSuffix(wide), driver.Dim{X: max(1, min(ceilDiv(rows, warpRows), maxBlocks))}, driver.Dim{X: blockThreads}, out, x, targets, k, rows, n)
}

// indexKernels describes src/index.cu.
func indexKernels() []Kernel {
	all := []Kernel{{"top_k", "ppplll"}}
	for _, i := range []string{"_i32", "_i64"} {
		all = append(all, Kernel{"in_top_k" + i, "ppppll"})
		for _, size := range []int{1, 2, 4, 8, 16} {
			all = append(all, Kernel{fmt.Sprintf("gather_%d%s", size, i), "pppplllll" + "ii"})
		}
		for _, size := range []int{1, 4, 8} {
			all = append(all, Kernel{fmt.Sprintf("one_hot_%d%s", size, i), "pppplll"})
		}
	}
	return all
}
