package stablehlograph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/stablehlo"
	"github.com/goestimator/goestimator/tensor"
)

// constantOperation returns a splat as a broadcast.
func constantOperation(x *site) *value {
	k, ok := x.op.Attrs["value"].(*stablehlo.Constant)
	if !ok {
		refuse("attribute value: expected a constant")
	}
	if !k.Splat || len(k.Type.Dims) == 0 {
		return constant(x.t.tensor(k))
	}
	one := *k
	one.Type.Dims = nil
	if low := constant(tensorOf(&one)); !x.scope.each {
		return x.spread(low, k.Type.Dims, ints(k.Type.Dims...))
	}
	refuse("a constant that is no number in a region of numbers")
	return nil
}

// iota counts along a dimension.
func iota(x *site) *value {
	to := x.result(0)
	return x.counted(to.DType, to.Dims, ints(to.Dims...), x.int("iota_dimension"))
}

func dynamicIota(x *site) *value {
	to := x.result(0)
	return x.counted(to.DType, to.Dims, x.cast(x.at(0), tensor.Int32), x.int("iota_dimension"))
}

func (x *site) counted(d tensor.DType, dims []int, shape *value, axis int) *value {
	n := scalar(tensor.Int32, float64(dims[axis]))
	if dims[axis] < 0 {
		n = x.element(shape, axis)
	}
	low := x.count(d, n)
	y := *low
	if len(dims) > 1 {
		ones := slices.Repeat([]int{1}, len(dims)-axis)
		ones[0] = low.dims[0]
		y = *x.spread(x.reshape(low, ones...), dims, shape)
	}
	y.along = axis + 1
	return &y
}

// element returns one element of a vector, a scalar.
func (b *builder) element(v *value, i int) *value {
	if all, ok := v.numbers(); ok {
		return scalar(tensor.Int32, float64(all[i]))
	}
	return b.node(ops.Reshape, nil, nil, b.slice(v, []int{i}, []int{1}), ints())
}

// broadcastInDim moves the dimensions of the operand, and repeats it along the others.
func broadcastInDim(x *site) *value {
	v, to := x.at(0), x.result(0)
	places := x.ints("broadcast_dimensions")
	shape := ints(to.Dims...)
	if len(x.in) > 1 {
		shape = x.cast(x.at(1), tensor.Int32)
	}
	return x.placed(v, places, to.Dims, shape)
}

// broadcast repeats the operand along new first dimensions.
func broadcast(x *site) *value {
	to := x.result(0)
	places := without(len(to.Dims), without(len(to.Dims)-x.at(0).rank())...)
	return x.placed(x.at(0), places, to.Dims, ints(to.Dims...))
}

// placed is a broadcast of v, whose dimension i becomes dimension places[i].
func (x *site) placed(v *value, places, dims []int, shape *value) *value {
	if len(places) != v.rank() {
		refuse("%d dimensions of an operand of rank %d", len(places), v.rank())
	}
	if slices.Equal(v.dims, dims) && slices.IsSorted(places) && !open(dims) {
		return v
	}
	low := v.small()
	if low.rank() == 0 {
		return x.spread(low, dims, shape)
	}
	low = x.insert(low, without(v.rank()-low.rank())...) // dimensions that small leaves out
	if !slices.IsSorted(places) {
		order := make([]int, len(places))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return places[a] - places[b] })
		low, places = x.transpose(low, order...), at(places, order)
	}
	first := places[0] // NumPy adds earlier dimensions by itself
	low = x.insert(low, offset(without(len(dims)-first, offset(places, -first)...), 0)...)
	return x.spread(low, dims, shape)
}

// offset adds n to numbers.
func offset(all []int, n int) []int {
	out := make([]int, len(all))
	for i, v := range all {
		out[i] = v + n
	}
	return out
}

func reshape(x *site) *value { return x.reshape(x.at(0), x.result(0).Dims...) }

func dynamicReshape(x *site) *value {
	v, to := x.at(0), x.result(0)
	shape := x.cast(x.at(1), tensor.Int32)
	if v.low != nil && v.low.rank() == 0 {
		return x.spread(v.low, to.Dims, shape)
	}
	return x.node(ops.Reshape, to.Dims, nil, v, shape)
}

func transpose(x *site) *value { return x.transpose(x.at(0), x.ints("permutation")...) }

func concatenate(x *site) *value {
	axis := x.int("dimension")
	if v := x.at(0); axis < 0 || axis >= v.rank() {
		refuse("dimension %d of rank %d", axis, v.rank())
	}
	return x.concat(axis, x.in...)
}

func reverse(x *site) *value {
	v, axes := x.at(0), x.ints("dimensions")
	if len(axes) == 0 {
		return v
	}
	return x.node(ops.ReverseV2, v.dims, nil, v, ints(axes...))
}

// slice takes every stride-th element of a range.
func slice(x *site) *value {
	return x.strided(x.at(0), x.result(0).Dims, ints(x.ints("start_indices")...), ints(x.ints("limit_indices")...), ints(x.ints("strides")...))
}

func realDynamicSlice(x *site) *value {
	var parts [3]*value
	for i := range parts {
		parts[i] = x.cast(x.at(i+1), tensor.Int32)
	}
	return x.strided(x.at(0), x.result(0).Dims, parts[0], parts[1], parts[2])
}

func (b *builder) strided(v *value, dims []int, begin, end, steps *value) *value {
	zero := graph.Attrs{"begin_mask": int64(0), "end_mask": int64(0), "ellipsis_mask": int64(0), "new_axis_mask": int64(0), "shrink_axis_mask": int64(0)}
	if v.rank() == 0 {
		return v
	}
	return b.node(ops.StridedSlice, dims, zero, v, begin, end, steps)
}

// starts returns the vector of indices at which a slice begins.
func (x *site) starts(from int) *value {
	var parts []*value
	for _, v := range x.in[from:] {
		parts = append(parts, x.index(v))
	}
	if len(parts) == 0 {
		return ints()
	}
	return x.pack(parts)
}

// index clamps indices to int32.
func (b *builder) index(v *value) *value {
	switch v.dtype {
	case tensor.Uint32, tensor.Int64:
		most := scalar(tensor.Int64, 1<<31-1)
		wide := b.each(ops.Minimum, nil, b.cast(v, tensor.Int64), most)
		return b.cast(b.each(ops.Maximum, nil, wide, scalar(tensor.Int64, -1<<31)), tensor.Int32)
	case tensor.Uint64:
		return b.cast(b.each(ops.Minimum, nil, v, scalar(tensor.Uint64, 1<<31-1)), tensor.Int32)
	}
	return b.cast(v, tensor.Int32)
}

// dynamicSlice moves a slice that would leave the operand inside.
func dynamicSlice(x *site) *value {
	v, sizes := x.at(0), x.ints("slice_sizes")
	if v.rank() == 0 {
		return v
	}
	start := x.starts(1)
	if !open(v.dims) {
		most := make([]int, v.rank())
		for i, d := range v.dims {
			most[i] = d - sizes[i]
		}
		start = x.between(start, ints(most...))
		return x.node(ops.Slice, sizes, nil, v, start, ints(sizes...))
	}
	start = x.between(start, x.each(ops.Sub, nil, x.sizes(v), ints(sizes...)))
	return x.node(ops.Slice, sizes, nil, v, start, ints(sizes...))
}

// between clamps indices to 0 through most.
func (b *builder) between(v, most *value) *value {
	return b.each(ops.Maximum, nil, b.each(ops.Minimum, nil, v, most), scalar(v.dtype, 0))
}

func dynamicUpdateSlice(x *site) *value {
	v, update := x.at(0), x.at(1)
	if v.rank() == 0 {
		return update
	}
	start := x.starts(2)
	if y := x.updatedAt(v, update, start); y != nil {
		return y
	}
	return x.node(ops.XlaDynamicUpdateSlice, v.dims, nil, v, update, start)
}

// updatedAt concatenates the parts before and after along one axis with the update, at a known index; nil if there are several axes.
func (x *site) updatedAt(v, update, start *value) *value {
	at, ok := start.numbers()
	axis := -1
	for i, d := range v.dims {
		switch {
		case d < 0 || update.dims[i] < 0:
			return nil
		case d != update.dims[i] && axis >= 0:
			return nil
		case d != update.dims[i]:
			axis = i
		}
	}
	if axis < 0 {
		return update
	}
	if !ok {
		return nil
	}
	from := min(max(at[axis], 0), v.dims[axis]-update.dims[axis])
	var parts []*value
	add := func(from, to int) {
		if from < to {
			begin, sizes := make([]int, v.rank()), slices.Clone(v.dims)
			begin[axis], sizes[axis] = from, to-from
			parts = append(parts, x.slice(v, begin, sizes))
		}
	}
	add(0, from)
	parts = append(parts, update)
	add(from+update.dims[axis], v.dims[axis])
	return x.concat(axis, parts...)
}

// pad adds elements before, after and between the operand's. Negative numbers remove elements.
func pad(x *site) *value {
	return x.padded(x.at(0), x.at(1), x.ints("edge_padding_low"), x.ints("edge_padding_high"), x.ints("interior_padding"))
}

// dynamicPad: the numbers become known with the module's sizes, as far as it states the result's sizes.
func dynamicPad(x *site) *value {
	between, ok := x.at(4).numbers()
	if ok && !slices.ContainsFunc(between, func(n int) bool { return n != 0 }) {
		low, high := x.cast(x.at(2), tensor.Int32), x.cast(x.at(3), tensor.Int32)
		both := x.node(ops.Pack, []int{x.at(0).rank(), 2}, graph.Attrs{"axis": int64(1)}, low, high)
		return x.node(ops.PadV2, x.result(0).Dims, nil, x.at(0), both, x.at(1))
	}
	refuse("paddings between elements that are not constant")
	return nil
}

func (b *builder) padded(v, with *value, low, high, between []int) *value {
	n := v.rank()
	if len(low) != n || len(high) != n || len(between) != n {
		refuse("paddings of %d, %d and %d dimensions: expected %d", len(low), len(high), len(between), n)
	}
	for i, p := range between {
		if p != 0 {
			v = b.parted(v, with, i, p)
		}
	}
	pads, dims := tensor.New(tensor.Int32, n, 2), slices.Clone(v.dims)
	begin, sizes, cut, grow := make([]int, n), make([]int, n), false, false
	for i := range n {
		tensor.Values[int32](pads)[2*i], tensor.Values[int32](pads)[2*i+1] = int32(max(low[i], 0)), int32(max(high[i], 0))
		grow = grow || low[i] > 0 || high[i] > 0
		cut = cut || low[i] < 0 || high[i] < 0
		if begin[i], sizes[i] = max(-low[i], 0), -1; dims[i] >= 0 {
			dims[i] += max(low[i], 0) + max(high[i], 0)
			sizes[i] = dims[i] - max(-low[i], 0) - max(-high[i], 0)
		} else if high[i] < 0 {
			refuse("a negative padding after an open size")
		}
	}
	if grow {
		v = b.node(ops.PadV2, dims, nil, v, constant(pads), with)
	}
	if cut {
		v = b.slice(v, begin, sizes)
	}
	return v
}

// parted inserts n elements between the elements along an axis.
func (b *builder) parted(v, with *value, axis, n int) *value {
	if n < 0 || v.dims[axis] < 0 || v.dims[axis] > 1<<31/(n+1) {
		refuse("%d elements between the elements of a dimension of size %d", n, v.dims[axis])
	}
	if v.dims[axis] == 0 {
		return v
	}
	size := v.dims[axis]
	wide := b.insert(v, axis+1)
	zero, high := make([]int, wide.rank()), make([]int, wide.rank())
	high[axis+1] = n
	wide = b.padded(wide, with, zero, high, zero)
	dims := slices.Clone(v.dims)
	dims[axis] = size * (n + 1)
	flat := b.node(ops.Reshape, dims, nil, wide, b.shapeFrom(dims, b.openSizes(v)...))
	all := slices.Repeat([]int{-1}, v.rank())
	all[axis] = size*(n+1) - n
	return b.slice(flat, make([]int, v.rank()), all)
}

func dimensionSize(x *site) *value {
	axis := x.int("dimension")
	return x.cast(x.size(x.at(0), axis), x.result(0).DType)
}
