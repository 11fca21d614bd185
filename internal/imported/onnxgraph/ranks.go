package onnxgraph

import (
	"bytes"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// ranked has ops whose results' rank follows from the ranks of their inputs.
var ranked = map[*ops.Def]func(in []*value) int{
	ops.ConcatV2: firstRank, ops.Transpose: firstRank, ops.StridedSlice: firstRank, ops.Slice: firstRank, ops.PadV2: firstRank, ops.Tile: firstRank,
	ops.BatchMatMulV2: widest, ops.ReverseV2: firstRank, ops.Cumsum: firstRank, ops.Softmax: firstRank, ops.SelectV2: widest,
	ops.Range: func([]*value) int { return 1 }, ops.RandomStandardNormal: shapeLength, ops.RandomUniform: shapeLength,
	ops.Fill:        shapeLength,
	ops.BroadcastTo: func(in []*value) int { return in[1].length() },
	ops.Reshape:     func(in []*value) int { return in[1].length() },
	ops.ExpandDims:  func(in []*value) int { return oneMore(in[0].rank()) },
	ops.Pack:        func(in []*value) int { return oneMore(in[0].rank()) },
	ops.GatherV2:    gatheredRank,
	ops.MatMul:      func([]*value) int { return 2 },
	ops.BiasAdd:     firstRank,
	ops.SplitV:      firstRank,
	ops.OneHot:      func(in []*value) int { return oneMore(in[0].rank()) },
	ops.ArgMax:      oneLess,
	ops.ArgMin:      oneLess,
	ops.TopKV2:      firstRank,
	ops.Split:       func(in []*value) int { return in[1].rank() },
}

// reductions has ops that reduce axes, which are input 1.
var reductions = map[*ops.Def]bool{ops.Sum: true, ops.Mean: true, ops.Max: true, ops.Min: true, ops.Prod: true, ops.All: true, ops.Any: true}

func reducedRank(in []*value, keep bool) int {
	rank, axes := in[0].rank(), in[1].length()
	switch {
	case keep || rank < 0:
		return rank
	case in[1].rank() == 0:
		axes = 1
	case axes < 0:
		return -1
	}
	return max(rank-axes, 0)
}

// einsumRank returns the number of the result's indices; an ellipsis stands for the axes of operands that have no letter.
func einsumRank(attrs graph.Attrs, in []*value) int {
	equation, _ := attrs["equation"].([]byte)
	operands, result, ok := bytes.Cut(bytes.ReplaceAll(equation, []byte(" "), nil), []byte("->"))
	if !ok {
		return -1
	}
	dots := []byte("...")
	rest := len(bytes.ReplaceAll(result, dots, nil))
	if !bytes.Contains(result, dots) {
		return rest
	}
	more := 0
	for i, o := range bytes.Split(operands, []byte(",")) {
		if i >= len(in) || in[i].rank() < 0 {
			return -1
		}
		more = max(more, in[i].rank()-len(bytes.ReplaceAll(o, dots, nil)))
	}
	return rest + more
}

func shapeLength(in []*value) int { return in[0].length() }

func firstRank(in []*value) int { return in[0].rank() }

func oneMore(rank int) int {
	if rank < 0 {
		return rank
	}
	return rank + 1
}

// oneLess returns the rank without one axis.
func oneLess(in []*value) int {
	if rank := in[0].rank(); rank > 0 {
		return rank - 1
	}
	return -1
}

// widest returns the rank of values that are broadcast to one shape.
func widest(in []*value) int {
	rank := 0
	for _, v := range in {
		if v.rank() < 0 {
			return -1
		}
		rank = max(rank, v.rank())
	}
	return rank
}

func gatheredRank(in []*value) int {
	if u, at := in[0].rank(), in[1].rank(); u > 0 && at >= 0 {
		return u + at - 1
	}
	return -1
}

// noteRank notes the rank of a result that fewer than two assumptions lead to: sizes known only from data, or two symbols for the
// same size, were assumed to differ from the sizes that they meet.
func (b *builder) noteRank(d *ops.Def, attrs graph.Attrs, in []*value, y *value) {
	said := 0
	for _, k := range y.known {
		if k.Known {
			said++
		}
	}
	if said > 1 || len(in) == 0 {
		return
	}
	rank := -1
	switch f := ranked[d]; {
	case f != nil:
		rank = f(in)
	case d == ops.Einsum:
		rank = einsumRank(attrs, in)
	case d == ops.Squeeze:
		if axes, _ := attrs["squeeze_dims"].([]int64); len(axes) > 0 && in[0].rank() >= len(axes) {
			rank = in[0].rank() - len(axes)
		}
	case reductions[d]:
		keep, _ := attrs["keep_dims"].(bool)
		rank = reducedRank(in, keep)
	case d.Shape == ops.SameShape:
		rank = firstRank(in)
	case d.Shape == ops.Broadcast:
		rank = widest(in)
	}
	if rank > maxDims {
		refuse("a result of %d dimensions: expected at most %d", rank, maxDims)
	}
	if rank >= 0 {
		y.known = probes{}
		b.sized(y, slices.Repeat([]int{-1}, rank))
		y.rankAlone = true
	}
}
