package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// normOperators normalize values to a mean and spread.
var normOperators = operators{
	"BatchNormalization": as(batchNorm).but("what training made before version 14"), "InstanceNormalization": one(instanceNorm), "LayerNormalization": as(layerNorm),
	"GroupNormalization": one(groupNorm), "RMSNormalization": one(rmsNorm), "LRN": one(lrn), "LpNormalization": one(lpNorm), "MeanVarianceNormalization": one(meanVarianceNorm),
}

// batchNorm uses the given mean and variance, or in training the batch's.
func batchNorm(x *site) []*value {
	momentum := x.float("momentum", 0.9)
	x.attr("is_test") // before version 7
	if x.int("spatial", 1) == 0 {
		refuse("spatial = 0")
	}
	training := x.flag("training_mode", false)
	for i, o := range x.n.Outputs {
		if i > 0 && o != "" && !training {
			refuse("outputs of training")
		}
	}
	u, rank, epsilon := x.at(0), x.rank(0), x.float("epsilon", 1e-5)
	work := tensor.Float32
	if u.dtype == tensor.Float64 {
		work = u.dtype
	}
	var in [5]*value
	for i := range in {
		in[i] = x.cast(x.at(i), work)
	}
	if training {
		return x.batchMoments(in, rank, epsilon, momentum)
	}
	if work == tensor.Float32 && rank >= 2 && rank <= 5 {
		last := in[0]
		if rank > 2 {
			last = x.channelsLast(last)
		}
		return []*value{x.cast(x.fused(last, rank, in[1], in[2], in[3], in[4], epsilon), u.dtype)}
	}
	factor := x.op(ops.Mul, nil, in[1], x.op(ops.Rsqrt, nil, x.plus(in[4], epsilon)))
	return []*value{x.cast(x.normalized(in[0], x.channels(in[3], rank), x.channels(factor, rank), x.channels(in[2], rank)), u.dtype)}
}

// channels reshapes a vector of channels to [c, 1, 1...].
func (x *site) channels(v *value, rank int) *value {
	if rank < 3 {
		return v
	}
	return x.reshape(v, append([]int{-1}, slices.Repeat([]int{1}, rank-2)...)...)
}

// normalized is (u-mean)*factor + offset.
func (x *site) normalized(u, mean, factor, offset *value) *value {
	return x.each(ops.AddV2, nil, x.each(ops.Mul, nil, x.each(ops.Sub, nil, u, mean), factor), offset)
}

// batchMoments normalizes by the batch's mean and variance, and moves the running ones towards them.
func (x *site) batchMoments(in [5]*value, rank int, epsilon, momentum float64) []*value {
	axes, keep := x.ints(without(rank, min(1, rank-1))...), graph.Attrs{"keep_dims": true}
	mean := x.op(ops.Mean, keep, in[0], axes)
	variance := x.op(ops.Mean, keep, x.op(ops.Square, nil, x.op(ops.Sub, nil, in[0], mean)), axes)
	factor := x.op(ops.Mul, nil, x.channels(in[1], rank), x.op(ops.Rsqrt, nil, x.plus(variance, epsilon)))
	out := []*value{x.cast(x.normalized(in[0], mean, factor, x.channels(in[2], rank)), x.at(0).dtype)}
	for i, now := range []*value{mean, variance} {
		moved := x.op(ops.AddV2, nil, x.times(in[3+i], momentum), x.times(x.reshape(now, -1), 1-momentum))
		out = append(out, x.cast(moved, x.at(3+i).dtype))
	}
	return out
}

// fused is TensorFlow's op, which takes images: other inputs get dimensions of size one.
func (x *site) fused(u *value, rank int, scale, offset, mean, variance *value, epsilon float64) *value {
	v := u
	for r := rank; r < 4; r++ {
		v = x.op(ops.ExpandDims, nil, v, x.i32(1))
	}
	attrs := graph.Attrs{"epsilon": float32(epsilon), "is_training": false, "U": tensor.Float32}
	if rank == 5 {
		attrs["data_format"] = []byte("NDHWC")
	}
	y := x.ops(ops.FusedBatchNormV3, attrs, v, scale, offset, mean, variance)[0]
	if rank < 4 {
		y = x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{1, 2}[:4-rank]}, y)
	}
	y = x.sized(y, slices.Repeat([]int{-1}, rank)) // the number of channels may differ from the assumed one
	if rank == 2 {
		return y
	}
	return x.channelsFirst(y)
}

// moments returns a value's mean over axes, the value minus it, and 1/sqrt(variance + epsilon).
func (x *site) moments(u *value, epsilon float64, axes ...int) (mean, centered, spread *value) {
	keep := graph.Attrs{"keep_dims": true}
	mean = x.op(ops.Mean, keep, u, x.ints(axes...))
	centered = x.op(ops.Sub, nil, u, mean)
	variance := x.op(ops.Mean, keep, x.op(ops.Square, nil, centered), x.ints(axes...))
	return mean, centered, x.op(ops.Rsqrt, nil, x.op(ops.AddV2, nil, variance, x.scalar(u.dtype, epsilon)))
}

// instanceNorm normalizes each channel of each image.
func instanceNorm(x *site) *value {
	u := x.channelsLast(x.at(0))
	_, centered, spread := x.moments(u, x.float("epsilon", 1e-5), without(u.rank(), 0, u.rank()-1)...)
	y := x.op(ops.Mul, nil, centered, x.op(ops.Mul, nil, spread, x.at(1)))
	return x.channelsFirst(x.op(ops.AddV2, nil, y, x.at(2)))
}

// layerNorm normalizes over all axes from one on, in the precision of stash_type.
func layerNorm(x *site) []*value {
	u, rank := x.at(0), x.rank(0)
	axis := axisOf(x.int("axis", -1), rank)
	work := x.dtype("stash_type", tensor.Float32)
	if u.dtype == tensor.Float64 {
		work = u.dtype
	}
	v := x.cast(u, work)
	mean, centered, spread := x.moments(v, x.float("epsilon", 1e-5), without(rank, without(axis)...)...)
	y := x.each(ops.Mul, nil, x.cast(x.op(ops.Mul, nil, centered, spread), u.dtype), x.at(1))
	if x.has(2) {
		y = x.each(ops.AddV2, nil, y, x.at(2))
	}
	stash := x.dtype("stash_type", tensor.Float32) // also of float64, which is computed as such
	return []*value{y, x.cast(mean, stash), x.cast(spread, stash)}
}

// rmsNorm divides by the root mean square over all axes from one on, in the precision of stash_type.
func rmsNorm(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	axis := axisOf(x.int("axis", -1), rank)
	work := x.dtype("stash_type", tensor.Float32)
	if u.dtype == tensor.Float64 {
		work = u.dtype
	}
	v := x.cast(u, work)
	mean := x.op(ops.Mean, graph.Attrs{"keep_dims": true}, x.op(ops.Square, nil, v), x.ints(without(rank, without(axis)...)...))
	spread := x.op(ops.Rsqrt, nil, x.plus(mean, x.float("epsilon", 1e-5)))
	return x.each(ops.Mul, nil, x.cast(x.op(ops.Mul, nil, v, spread), u.dtype), x.at(1))
}

// groupNorm normalizes groups of channels; before version 21 scale and bias are per group.
func groupNorm(x *site) *value {
	u, groups := x.at(0), x.int("num_groups", 1)
	dims := u.dims()
	if len(dims) < 3 || dims[1] < 1 || groups < 1 || dims[1]%groups != 0 {
		refuse("%d groups of channels of shape %v", groups, dims)
	}
	work := x.dtype("stash_type", tensor.Float32)
	if u.dtype == tensor.Float64 {
		work = u.dtype
	}
	inner := x.op(ops.StridedSlice, graph.Attrs{"end_mask": int64(1)}, x.shape(u), x.ints(2), x.ints(0), x.ints(1))
	split := x.concat(0, x.op(ops.Reshape, nil, x.size(u, 0), x.ints(1)), x.ints(groups, dims[1]/groups), inner)
	v := x.cast(x.op(ops.Reshape, nil, u, split), work)
	_, centered, spread := x.moments(v, x.float("epsilon", 1e-5), without(len(dims)+1, 0, 1)...)
	y := x.cast(x.op(ops.Mul, nil, centered, spread), u.dtype)
	ones := slices.Repeat([]int{1}, len(dims)-2)
	if x.version < 21 {
		shape := append([]int{groups, 1}, ones...)
		y = x.op(ops.AddV2, nil, x.op(ops.Mul, nil, y, x.reshape(x.at(1), shape...)), x.reshape(x.at(2), shape...))
		return x.op(ops.Reshape, nil, y, x.shape(u))
	}
	shape := append([]int{dims[1]}, ones...)
	y = x.op(ops.Reshape, nil, y, x.shape(u))
	return x.op(ops.AddV2, nil, x.op(ops.Mul, nil, y, x.reshape(x.at(1), shape...)), x.reshape(x.at(2), shape...))
}

// lrn sums squares over neighboring channels; a window of even size has one more after the channel than before it.
func lrn(x *site) *value {
	size := x.int("size", 0)
	alpha, beta, bias := x.float("alpha", 1e-4), x.float("beta", 0.75), x.float("bias", 1)
	if size < 1 || size > 1<<16 {
		refuse("size %d", size)
	}
	u := x.channelsLast(x.at(0))
	if size%2 == 1 && u.rank() == 4 && takesType(ops.LRN, u.dtype) {
		return x.channelsFirst(x.op(ops.LRN, graph.Attrs{"depth_radius": int64(size / 2), "bias": float32(bias), "alpha": float32(alpha / float64(size)), "beta": float32(beta)}, u))
	}
	rank := u.rank()
	before, after := make([]int, rank), make([]int, rank)
	before[rank-1], after[rank-1] = (size-1)/2, size/2
	sums := x.op(ops.Cumsum, nil, x.pad(x.op(ops.Square, nil, u), add(before, rank-1, 1), after, x.scalar(u.dtype, 0)), x.i32(rank-1))
	ends := func(from, to int) *value {
		begin, end := make([]int, rank), make([]int, rank)
		begin[rank-1], end[rank-1] = from, to
		mask := int64(1)<<rank - 1
		if to != 0 {
			mask &^= 1 << (rank - 1)
		}
		return x.op(ops.StridedSlice, graph.Attrs{"begin_mask": (int64(1)<<rank - 1) &^ (1 << (rank - 1)), "end_mask": mask}, sums, x.ints(begin...), x.ints(end...), x.ints(slices.Repeat([]int{1}, rank)...))
	}
	window := x.op(ops.Sub, nil, ends(size, 0), ends(0, -size))
	scale := x.op(ops.Pow, nil, x.op(ops.AddV2, nil, x.op(ops.Mul, nil, window, x.scalar(u.dtype, alpha/float64(size))), x.scalar(u.dtype, bias)), x.scalar(u.dtype, beta))
	return x.channelsFirst(x.op(ops.RealDiv, nil, u, scale))
}

func add(list []int, at, n int) []int {
	list = slices.Clone(list)
	list[at] += n
	return list
}

func lpNorm(x *site) *value {
	u, rank, p := x.at(0), x.rank(0), x.int("p", 2)
	axis := x.ints(axisOf(x.int("axis", -1), rank))
	keep := graph.Attrs{"keep_dims": true}
	norm := x.op(ops.Sum, keep, x.op(ops.Abs, nil, u), axis)
	if p == 2 {
		norm = x.op(ops.Sqrt, nil, x.op(ops.Sum, keep, x.op(ops.Square, nil, u), axis))
	}
	return x.op(ops.DivNoNan, nil, u, norm)
}

// meanVarianceNorm divides by the standard deviation plus 1e-9, as ONNX Runtime does.
func meanVarianceNorm(x *site) *value {
	u := x.at(0)
	axes := axesOf(x.intList("axes", []int{0, 2, 3}), x.rank(0))
	keep := graph.Attrs{"keep_dims": true}
	mean := x.op(ops.Mean, keep, u, x.ints(axes...))
	squares := x.op(ops.Mean, keep, x.op(ops.Square, nil, u), x.ints(axes...))
	spread := x.op(ops.Sqrt, nil, x.op(ops.Sub, nil, squares, x.op(ops.Square, nil, mean)))
	return x.op(ops.RealDiv, nil, x.op(ops.Sub, nil, u, mean), x.op(ops.AddV2, nil, spread, x.scalar(u.dtype, 1e-9)))
}
