package eager

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// BenchmarkRows runs ops that move, sum and update rows, with one thread and with two.
func BenchmarkRows(b *testing.B) {
	draw := rand.New(rand.NewPCG(1, 2))
	ids := func(n, below int, shape ...int) *tensor.Tensor {
		all := make([]int32, n)
		for i := range all {
			all[i] = draw.Int32N(int32(below))
		}
		return tensorOf(all, shape...)
	}
	table, square := tensor.New(tensor.Float32, 100_000, 64), tensor.New(tensor.Float32, 1000, 1000)
	sorted := ids(20_000, 2000, 20_000)
	slices.Sort(tensor.Values[int32](sorted))
	wide, narrow := tensor.New(tensor.Float32, 1000, 512), tensor.New(tensor.Float32, 10_000, 16)
	large, rate := tensor.New(tensor.Float32, 1_000_000), tensor.Scalar(float32(0.1))
	cases := []struct {
		name, op string
		in       []*tensor.Tensor
	}{
		{"GatherNdRows", "GatherNd", []*tensor.Tensor{table, ids(20_000, 100_000, 20_000, 1)}},
		{"GatherNdCells", "GatherNd", []*tensor.Tensor{square, ids(200_000, 1000, 100_000, 2)}},
		{"UnsortedSegmentSum", "UnsortedSegmentSum", []*tensor.Tensor{table, ids(100_000, 1000, 100_000), tensor.Scalar(int32(1000))}},
		{"SparseSegmentSum", "SparseSegmentSum", []*tensor.Tensor{table, ids(20_000, 100_000, 20_000), sorted}},
		{"Momentum", "ResourceApplyMomentum", []*tensor.Tensor{large, large, rate, tensor.New(tensor.Float32, 1_000_000), rate}},
		{"SparseMomentum", "ResourceSparseApplyMomentum", []*tensor.Tensor{table, table, rate, tensor.New(tensor.Float32, 20_000, 64), ids(20_000, 100_000, 20_000), rate}},
		{"ConcatWide", "ConcatV2", []*tensor.Tensor{wide, wide, tensor.Scalar(int32(1))}},
		{"ConcatNarrow", "ConcatV2", append(slices.Repeat([]*tensor.Tensor{narrow}, 8), tensor.Scalar(int32(1)))},
	}
	defer kernels.SetThreads(0)
	for _, c := range cases {
		for name, threads := range map[string]int{"1": 1, "2": 2} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				kernels.SetThreads(threads)
				in := make([]Value, len(c.in))
				for i, t := range c.in {
					in[i].T = t
				}
				if c.in[0] == large || c.op == "ResourceSparseApplyMomentum" {
					for i := range 2 {
						in[i] = Value{Resource: &hostVariable{t: c.in[0].Clone(), order: uint64(i)}}
					}
				}
				bench(b, &graph.Node{Name: "n", Op: c.op}, in...)
			})
		}
	}
}
