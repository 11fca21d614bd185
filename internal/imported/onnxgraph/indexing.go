package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// indexOperators select elements by index.
var indexOperators = operators{
	"Slice": one(slice), "Gather": one(gather), "GatherElements": one(gatherElements), "GatherND": one(gatherND),
	"TopK": as(topK), "OneHot": one(oneHot), "NonZero": one(nonZero), "Compress": one(compress), "ReverseSequence": one(reverseSequence),
	"ArgMax": one(arg(ops.ArgMax)), "ArgMin": one(arg(ops.ArgMin)), "CumSum": cumulative(ops.Cumsum), "CumProd": cumulative(ops.Cumprod),
}

// slice: starts, ends, axes and steps are inputs since version 10.
func slice(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	starts, ends, axes := x.listOr("starts", 1), x.listOr("ends", 2), x.listOr("axes", 3)
	var steps *value
	if x.has(4) {
		steps = x.at(4)
	}
	n := -1
	for _, v := range []*value{starts, ends, axes, steps} { // all have the same length
		if v != nil && n < 0 {
			n = v.length()
		}
	}
	if n < 0 {
		refuse("the number of starts is not known")
	}
	if n > max(rank, 0) {
		refuse("%d starts for rank %d", n, rank)
	}
	listed := func(v *value) *value {
		if v == nil || v.length() == n {
			return v
		}
		return x.reshape(v, n)
	}
	starts, ends, steps = listed(starts), listed(ends), listed(steps)
	list := without(n)
	if axes != nil {
		t := axes.fixed()
		if t == nil {
			refuse("axes have to be constant")
		}
		list = intsOf(t)
	}
	if list = axesOf(list, rank); len(list) != n {
		refuse("axes %v of %d starts", list, n)
	}
	mask, d := int64(0), starts.dtype
	var begin, end, step []*value
	for i := range rank {
		k := slices.Index(list, i)
		if k < 0 {
			mask |= 1 << i
			begin, end, step = append(begin, x.scalar(d, 0)), append(end, x.scalar(d, 0)), append(step, x.scalar(d, 1))
			continue
		}
		begin, end = append(begin, x.item(starts, k)), append(end, x.cast(x.item(ends, k), d))
		if steps == nil {
			step = append(step, x.scalar(d, 1))
		} else {
			step = append(step, x.cast(x.item(steps, k), d))
		}
	}
	if rank == 0 {
		return u
	}
	at := []*value{x.bounds(x.pack(begin...)), x.bounds(x.pack(end...)), x.bounds(x.pack(step...))}
	attrs := graph.Attrs{"begin_mask": mask, "end_mask": mask}
	sizes := slices.Repeat([]int{-1}, rank)
	if dims := u.dims(); dims != nil {
		copy(sizes, dims)
	}
	for _, a := range list {
		sizes[a] = -1
	}
	return x.sized(x.op(ops.StridedSlice, attrs, u, at[0], at[1], at[2]), sizes)
}

// bounds clamps a constant vector to int32: sizes are smaller than that.
func (x *site) bounds(v *value) *value {
	if v.t == nil {
		return v
	}
	list := intsOf(v.t)
	for i, n := range list {
		list[i] = max(min(n, math.MaxInt32), math.MinInt32+1)
	}
	t := tensor.New(v.dtype, len(list))
	for i, n := range list {
		if v.dtype == tensor.Int32 {
			tensor.Values[int32](t)[i] = int32(n)
		} else {
			tensor.Values[int64](t)[i] = int64(n)
		}
	}
	return constant(t)
}

// listOr returns an attribute of integers, or the input that newer versions have instead; nil if both are absent.
func (x *site) listOr(name string, i int) *value {
	if list, ok := x.attr(name).([]int); ok {
		return x.cast(x.ints(list...), tensor.Int64)
	}
	return optional(x, i)
}

// item returns element k of a vector.
func (x *site) item(v *value, k int) *value {
	return x.op(ops.GatherV2, nil, v, x.i32(k), x.i32(0))
}

// wrapped makes negative indices count from n.
func (x *site) wrapped(at, n *value) *value {
	if at.t != nil {
		negative := slices.ContainsFunc(intsOf(at.t), func(i int) bool { return i < 0 })
		if !negative {
			return at
		}
	}
	n = x.cast(n, at.dtype)
	return x.op(ops.SelectV2, nil, x.op(ops.Less, nil, at, x.scalar(at.dtype, 0)), x.op(ops.AddV2, nil, at, n), at)
}

func gather(x *site) *value {
	u := x.at(0)
	axis := x.int("axis", 0)
	if axis < 0 {
		axis = axisOf(axis, x.rank(0))
	}
	return x.op(ops.GatherV2, nil, u, x.wrapped(x.at(1), x.size(u, axis)), x.i32(axis))
}

// within returns indices along an axis of the given size; at run time it refuses indices out of range.
func (x *site) within(at, size *value) *value {
	if at.t != nil && size.t != nil && !slices.ContainsFunc(intsOf(at.t), func(i int) bool { return i < 0 || i >= int(size.t.Int(0)) }) {
		return at
	}
	return x.op(ops.GatherV2, nil, x.op(ops.Range, nil, x.i32(0), size, x.i32(1)), at, x.i32(0))
}

// linear returns indices into data flattened: each element of at replaces its own coordinate along axis.
func (x *site) linear(data, at *value, axis int) *value {
	rank := data.rank()
	stride := x.i32(1)
	var sum *value
	for i := rank - 1; i >= 0; i-- {
		var coordinate *value
		if i == axis {
			coordinate = x.within(x.narrow(at), x.size(data, i))
		} else {
			shape := slices.Repeat([]int{1}, rank)
			shape[i] = -1
			coordinate = x.reshape(x.op(ops.Range, nil, x.i32(0), x.size(at, i), x.i32(1)), shape...)
		}
		part := x.op(ops.Mul, nil, coordinate, stride)
		if sum == nil {
			sum = part
		} else {
			sum = x.op(ops.AddV2, nil, sum, part)
		}
		stride = x.op(ops.Mul, nil, stride, x.size(data, i))
	}
	return sum
}

func gatherElements(x *site) *value {
	u, axis := x.at(0), x.int("axis", 0)
	if u.rank() < 0 && axis >= 0 {
		return x.gatherOpenElements(u, x.at(1), axis)
	}
	axis = axisOf(axis, x.rank(0))
	at := x.wrapped(x.at(1), x.size(u, axis))
	return x.op(ops.GatherV2, nil, x.reshape(u, -1), x.linear(u, at, axis), x.i32(0))
}

// gatherOpenElements is GatherElements for a tensor of unknown rank: for each index, the coordinate along the axis is replaced by the
// index.
func (x *site) gatherOpenElements(u, at *value, axis int) *value {
	shape := x.shape(at)
	index := x.wrapped(x.reshape(x.narrow(at), -1), x.item(x.shape(u), axis))
	n := x.size(index, 0)
	own := x.op(ops.UnravelIndex, nil, x.op(ops.Range, nil, x.i32(0), n, x.i32(1)), x.op(ops.Maximum, nil, shape, x.i32(1))) // [rank, n]
	before := x.op(ops.StridedSlice, nil, own, x.ints(0), x.ints(axis), x.ints(1))
	after := x.op(ops.StridedSlice, graph.Attrs{"end_mask": int64(1)}, own, x.ints(axis+1), x.ints(0), x.ints(1))
	places := x.transpose(x.concat(0, before, x.reshape(index, 1, -1), after), []int{1, 0})
	return x.op(ops.Reshape, nil, x.op(ops.GatherNd, nil, u, places), shape)
}

// lastSize returns the size of the last axis, -1 if it is not known.
func lastSize(v *value) int {
	if dims := v.dims(); len(dims) > 0 {
		return dims[len(dims)-1]
	}
	return -1
}

// places makes the last axis of indices, of size k, non-negative; from is the first axis of u that they index.
func (x *site) places(u, at *value, k, from int) *value {
	if k < 0 {
		refuse("the size of the last axis of the indices is not known")
	}
	if k == 0 {
		return at
	}
	return x.wrapped(at, x.op(ops.StridedSlice, nil, x.shape(u), x.ints(from), x.ints(from+k), x.ints(1)))
}

func gatherND(x *site) *value {
	u, at := x.at(0), x.at(1)
	lead := x.int("batch_dims", 0)
	at = x.places(u, at, lastSize(at), lead)
	if lead == 0 {
		return x.op(ops.GatherNd, nil, u, at)
	}
	rank := x.rank(1)
	shape := x.concat(0, x.op(ops.StridedSlice, nil, x.shape(at), x.ints(0), x.ints(rank-1), x.ints(1)), x.ints(1))
	var parts []*value
	for i := range lead {
		sizes := slices.Repeat([]int{1}, rank)
		sizes[i] = -1
		step := x.cast(x.op(ops.Range, nil, x.i32(0), x.size(at, i), x.i32(1)), at.dtype)
		parts = append(parts, x.op(ops.BroadcastTo, nil, x.reshape(step, sizes...), shape))
	}
	return x.op(ops.GatherNd, nil, u, x.concat(rank-1, append(parts, at)...))
}

// topK has k as an input since version 10; the smallest are the largest of the negated elements.
func topK(x *site) []*value {
	u, axis, largest := x.at(0), x.int("axis", -1), x.flag("largest", true)
	x.attr("sorted")
	var k *value
	if x.version < 10 {
		k = x.i32(x.int("k", 1))
	} else {
		k = x.op(ops.Reshape, nil, x.narrow(x.at(1)), x.ints())
	}
	to, back := x.lastAndBack(axis)
	v := to(u)
	if !largest {
		v = x.negative(v)
	}
	y := x.ops(ops.TopKV2, graph.Attrs{"sorted": true}, v, k)
	if !largest {
		y[0] = x.negative(y[0])
	}
	return []*value{back(y[0]), back(x.cast(y[1], tensor.Int64))}
}

// lastAndBack returns functions that make an axis of input 0 the last one, and undo that. Axis -1 stays, even if the rank is not known.
func (x *site) lastAndBack(axis int) (to, back func(*value) *value) {
	if axis == -1 {
		same := func(v *value) *value { return x.plain(v) }
		return same, same
	}
	rank := x.rank(0)
	axis = axisOf(axis, rank)
	perm := append(without(rank, axis), axis)
	return func(v *value) *value { return x.transpose(v, perm) }, func(v *value) *value { return x.transpose(v, inverse(perm)) }
}

// negative reverses the order of numbers. For integers it takes the complement, which cannot overflow.
func (x *site) negative(v *value) *value {
	if v.dtype.Float() {
		return x.op(ops.Neg, nil, v)
	}
	return x.op(ops.Invert, nil, v)
}

func oneHot(x *site) *value {
	at := x.at(0)
	if at.dtype != tensor.Int32 && at.dtype != tensor.Uint8 && at.dtype != tensor.Int8 {
		at = x.cast(at, tensor.Int64)
	}
	depth := x.op(ops.Reshape, nil, x.narrow(x.at(1)), x.ints())
	at = x.wrapped(at, depth)
	axis := x.int("axis", -1)
	if axis < -1 {
		axis = axisOf(axis, x.rank(0)+1)
	}
	return x.op(ops.OneHot, graph.Attrs{"axis": int64(axis)}, at, depth, x.item(x.at(2), 1), x.item(x.at(2), 0))
}

func nonZero(x *site) *value { return x.transpose(x.truths(x.at(0)), []int{1, 0}) }

// truths returns the indices [n, rank] of nonzero elements.
func (x *site) truths(u *value) *value { return x.sized(x.op(ops.Where, nil, u), []int{-1, u.rank()}) }

// compress selects by a boolean vector, along an axis or from all elements.
func compress(x *site) *value {
	u := x.at(0)
	axis, ok := x.attr("axis").(int)
	if !ok {
		u = x.reshape(u, -1)
	} else if axis < 0 {
		axis = axisOf(axis, x.rank(0))
	}
	at := x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{1}}, x.truths(x.at(1)))
	return x.op(ops.GatherV2, nil, u, at, x.i32(axis))
}

func reverseSequence(x *site) *value {
	return x.op(ops.ReverseSequence, graph.Attrs{"seq_dim": int64(x.int("time_axis", 0)), "batch_dim": int64(x.int("batch_axis", 1))}, x.at(0), x.at(1))
}

// arg returns the index of the first, or last, of the largest or smallest elements.
func arg(d *ops.Def) func(x *site) *value {
	return func(x *site) *value {
		u := x.at(0)
		axis, keep, last := x.int("axis", 0), x.flag("keepdims", true), x.flag("select_last_index", false)
		if axis < 0 {
			axis = axisOf(axis, x.rank(0))
		}
		if last {
			u = x.op(ops.ReverseV2, nil, u, x.ints(axis))
		}
		y := x.op(d, graph.Attrs{"output_type": tensor.Int64}, u, x.i32(axis))
		if last {
			top := x.op(ops.Sub, nil, x.size(u, axis), x.i32(1))
			y = x.op(ops.Sub, nil, x.cast(top, tensor.Int64), y)
		}
		if keep {
			y = x.op(ops.ExpandDims, nil, y, x.i32(axis))
		}
		return y
	}
}

// cumulative is a running reduction along an axis.
func cumulative(d *ops.Def) operator {
	return one(func(x *site) *value {
		attrs := graph.Attrs{"exclusive": x.flag("exclusive", false), "reverse": x.flag("reverse", false)}
		return x.op(d, attrs, x.at(0), x.op(ops.Reshape, nil, x.at(1), x.ints()))
	})
}
