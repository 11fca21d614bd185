package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// padNode has pads and value as inputs since version 11.
func padNode(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	axes, mode := without(rank), x.str("mode", "constant")
	if list := x.knownInts(3); list != nil {
		axes = axesOf(list, rank)
	}
	by := optional(x, 2)
	if x.version < 11 {
		by = x.scalar(u.dtype, x.float("value", 0))
	}
	if by == nil && mode == "constant" && u.dtype != tensor.String && u.dtype != tensor.Bool {
		by = x.scalar(u.dtype, 0)
	} else if by == nil {
		by = constant(tensor.New(u.dtype))
	}
	if x.has(1) && x.at(1).fixed() == nil {
		return x.openPad(u, x.at(1), axes, mode, x.op(ops.Reshape, nil, by, x.ints()))
	}
	pads := x.intsOr("pads", 1, nil)
	if len(pads) != 2*len(axes) {
		refuse("pads %v for axes %v", pads, axes)
	}
	before, after := make([]int, rank), make([]int, rank)
	for i, a := range axes {
		before[a], after[a] = pads[i], pads[len(axes)+i]
	}
	last := rank >= 3 && u.last != nil && !u.out.Valid() && u.t == nil
	if last {
		u, before, after = u.last, permuted(before, toLast(rank)), permuted(after, toLast(rank))
	}
	var y *value
	switch mode {
	case "constant":
		y = x.pad(u, before, after, x.op(ops.Reshape, nil, by, x.ints()))
	case "reflect", "edge", "wrap":
		y = u
		for i := range rank {
			if before[i] != 0 || after[i] != 0 {
				y = x.extended(y, i, x.i32(before[i]), x.i32(after[i]), mode)
			}
		}
	default:
		refuse("mode %s", mode)
	}
	if last {
		return x.channelsFirst(y)
	}
	return y
}

// openPad pads by numbers from a request: first the ones before each axis, then the ones after it.
func (x *site) openPad(u, pads *value, axes []int, mode string, by *value) *value {
	pads = x.narrow(pads)
	sides := func(at int) []*value { // for all axes
		all := make([]*value, u.rank())
		for i := range all {
			all[i] = x.i32(0)
		}
		for i, a := range axes {
			all[a] = x.item(pads, at+i)
		}
		return all
	}
	before, after := sides(0), sides(len(axes))
	if mode == "reflect" || mode == "edge" || mode == "wrap" {
		for _, a := range axes {
			u = x.extended(u, a, before[a], after[a], mode)
		}
		return u
	}
	if mode != "constant" {
		refuse("mode %s", mode)
	}
	first, last := x.pack(before...), x.pack(after...)
	more := func(v *value) *value { return x.op(ops.Maximum, nil, v, x.i32(0)) }
	y := x.op(ops.PadV2, nil, u, x.op(ops.Pack, graph.Attrs{"axis": int64(1)}, more(first), more(last)), by)
	begin, end := more(x.op(ops.Neg, nil, first)), more(x.op(ops.Neg, nil, last)) // cropped by negative numbers
	rest := x.op(ops.Sub, nil, x.op(ops.Sub, nil, x.shape(y), begin), end)
	return x.sized(x.op(ops.Slice, nil, y, begin, more(rest)), slices.Repeat([]int{-1}, u.rank()))
}

// extended pads one axis by repeating its elements.
func (x *site) extended(u *value, axis int, before, after *value, mode string) *value {
	n := x.size(u, axis)
	after = x.op(ops.Minimum, nil, after, x.op(ops.Sub, nil, x.i32(math.MaxInt32), n)) // more would be too much in any case
	at := x.op(ops.Range, nil, x.op(ops.Neg, nil, before), x.op(ops.AddV2, nil, n, after), x.i32(1))
	top := x.op(ops.Sub, nil, n, x.i32(1))
	switch mode {
	case "edge":
		at = x.op(ops.Minimum, nil, x.op(ops.Maximum, nil, at, x.i32(0)), top)
	case "wrap":
		at = x.op(ops.FloorMod, nil, at, n)
	default: // reflect: the element d after the end equals the one d before it
		period := x.op(ops.Maximum, nil, x.op(ops.Mul, nil, top, x.i32(2)), x.i32(1))
		at = x.op(ops.FloorMod, nil, at, period)
		at = x.op(ops.Minimum, nil, at, x.op(ops.Sub, nil, period, at))
		at = x.op(ops.Minimum, nil, at, top)
	}
	return x.op(ops.GatherV2, nil, u, at, x.i32(axis))
}

// pad pads before and after each axis; negative numbers crop.
func (b *builder) pad(u *value, before, after []int, by *value) *value {
	var pads []int32
	cut, grow := false, false
	for i := range before {
		cut, grow = cut || before[i] < 0 || after[i] < 0, grow || before[i] > 0 || after[i] > 0
		pads = append(pads, int32(max(before[i], 0)), int32(max(after[i], 0)))
	}
	if grow {
		t, _ := tensor.FromSlice(pads, len(before), 2)
		u = b.op(ops.PadV2, nil, u, constant(t), by)
	}
	if !cut {
		return u
	}
	begin, end, step := make([]int, len(before)), make([]int, len(before)), make([]int, len(before))
	mask := int64(0)
	for i := range before {
		begin[i], end[i], step[i] = max(-before[i], 0), min(after[i], 0), 1
		if after[i] >= 0 {
			mask |= 1 << i
		}
	}
	return b.op(ops.StridedSlice, graph.Attrs{"end_mask": mask}, u, b.ints(begin...), b.ints(end...), b.ints(step...))
}
