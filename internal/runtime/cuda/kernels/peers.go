package kernels

import (
	_ "embed"

	"github.com/goestimator/goestimator/internal/runtime/cuda/driver"
	"github.com/goestimator/goestimator/tensor"
)

//go:embed src/peers.cu
var peersSource string

// peersKernels describes src/peers.cu.
func peersKernels() (all []Kernel) {
	for _, t := range []string{"f32", "f64", "bf16", "i64"} {
		all = append(all, Kernel{"peers_sum_" + t, "ppllll"})
	}
	return append(all, Kernel{"peers_divide_f32", "pll"}, Kernel{"peers_divide_f64", "pll"})
}

// PeersSum sums N elements of several GPUs in the order of their ranks. Own, the elements of rank Self, is replaced by the sum;
// rank k's elements are at element k*Stride of Parts. Sums of bfloat16 are rounded once, at the end.
type PeersSum struct {
	Type                   tensor.DType
	Own, Parts             driver.Ptr
	N, Stride, Count, Self int
}

// CanSumPeers reports whether PeersSum has a kernel for an element type.
func CanSumPeers(d tensor.DType) bool {
	return d == tensor.Float32 || d == tensor.Float64 || d == tensor.BFloat16 || d == tensor.Int64
}

// Call is the launch.
func (s PeersSum) Call() Call {
	grid, block := over(s.N)
	return call("peers_sum_"+suffixes[s.Type], grid, block, s.Own, s.Parts, s.N, s.Stride, s.Count, s.Self)
}

// PeersDivide divides n float32 or float64 elements at x by a number of replicas.
func PeersDivide(d tensor.DType, x driver.Ptr, n, by int) Call {
	grid, block := over(n)
	return call("peers_divide_"+suffixes[d], grid, block, x, n, by)
}
