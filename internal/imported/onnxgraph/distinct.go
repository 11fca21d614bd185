package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// distinctOperators find distinct values.
var distinctOperators = operators{"Unique": as(unique)}

// unique returns the distinct elements, or slices along an axis, sorted or in order of appearance; the index of the first of each,
// the index into the result for all, and the counts.
func unique(x *site) []*value {
	u, sorted := x.at(0), x.flag("sorted", true)
	axis := 0
	if x.attr("axis") == nil {
		u = x.reshape(u, -1)
	} else {
		axis = axisOf(x.int("axis", 0), x.rank(0))
	}
	all := x.ops(ops.UniqueWithCountsV2, graph.Attrs{"out_idx": tensor.Int32}, u, x.ints(axis))
	y, of, counts := x.sized(all[0], slices.Repeat([]int{-1}, u.rank())), x.sized(all[1], []int{-1}), x.sized(all[2], []int{-1})
	n := x.size(counts, 0)
	steps := x.op(ops.Range, nil, x.i32(0), x.size(of, 0), x.i32(1))
	first := x.sized(x.op(ops.UnsortedSegmentMin, nil, steps, of, n), []int{-1})
	if sorted {
		rank := u.rank()
		order := x.sized(x.op(ops.RowOrder, nil, x.transpose(y, append([]int{axis}, without(rank, axis)...))), []int{-1})
		pick := func(v *value, axis int) *value { return x.op(ops.GatherV2, nil, v, order, x.i32(axis)) }
		y, first, counts, of = pick(y, axis), pick(first, 0), pick(counts, 0), x.op(ops.GatherV2, nil, x.op(ops.InvertPermutation, nil, order), of, x.i32(0))
	}
	return []*value{y, x.cast(first, tensor.Int64), x.cast(of, tensor.Int64), x.cast(counts, tensor.Int64)}
}
