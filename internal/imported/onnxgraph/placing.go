package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// placingOperators move tensors, or elements of them.
var placingOperators = operators{"CenterCropPad": one(centerCropPad), "Col2Im": one(columnsToImages).but("shapes that are not constant"), "MaxUnpool": one(maxUnpool).but("output_shape"), "TensorScatter": one(tensorScatter)}

// centerCropPad crops axes that are too long, and pads axes that are too short with zeros, on both sides.
func centerCropPad(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	axes := axesOf(x.intList("axes", without(rank)), rank)
	to := x.narrow(x.at(1))
	if n := to.length(); n != len(axes) {
		refuse("%d sizes (-1: not known) for %d axes", n, len(axes))
	}
	half := func(v *value) *value { return x.op(ops.TruncateDiv, nil, v, x.i32(2)) }
	less := func(v, w *value) *value { return x.op(ops.Maximum, nil, x.op(ops.Sub, nil, v, w), x.i32(0)) }
	for i, a := range axes {
		have, want := x.size(u, a), x.item(to, i)
		lack := less(want, have)
		before := half(lack)
		u = x.cutAndPut(u, a, half(less(have, want)), x.op(ops.Minimum, nil, have, want), before, x.op(ops.Sub, nil, lack, before))
	}
	return u
}

// maxPlaces bounds the elements of all windows of an image.
const maxPlaces = 1 << 24

// columnsToImages sums windows, given as columns, into images.
func columnsToImages(x *site) *value {
	image, block := x.knownInts(1), x.knownInts(2)
	n := len(image)
	ones := slices.Repeat([]int{1}, n)
	dilations, strides, pads := x.intList("dilations", ones), x.intList("strides", ones), x.intList("pads", make([]int, 2*n))
	if n < 1 || len(block) != n || len(dilations) != n || len(strides) != n || len(pads) != 2*n {
		refuse("images %v, windows %v, dilations %v, strides %v, pads %v", image, block, dilations, strides, pads)
	}
	counts, total, window, size := make([]int, n), 1, 1, 1
	for i := range n {
		if image[i] < 1 || image[i] > maxPlaces || block[i] < 1 || block[i] > maxPlaces || strides[i] < 1 || dilations[i] < 1 || dilations[i] > maxPlaces || pads[i] < 0 || pads[n+i] < 0 ||
			max(pads[i], pads[n+i]) > maxPlaces {
			refuse("images %v, windows %v, dilations %v, strides %v, pads %v", image, block, dilations, strides, pads)
		}
		room := image[i] + pads[i] + pads[n+i] - dilations[i]*(block[i]-1) - 1
		if room < 0 {
			refuse("windows %v for images %v", block, image)
		}
		counts[i] = room/strides[i] + 1
		for _, f := range []int{counts[i], block[i]} {
			if total *= f; total > maxPlaces {
				refuse("%d elements of windows: expected at most %d", total, maxPlaces)
			}
		}
		window *= block[i]
		if size *= image[i]; size > math.MaxInt32 {
			refuse("images %v", image)
		}
	}
	x.t.pay(8 * total)
	places := tensor.New(tensor.Int32, total)
	for i := range tensor.Values[int32](places) {
		tensor.Values[int32](places)[i] = int32(placeOf(i, image, block, counts, dilations, strides, pads))
	}
	u := x.at(0)
	batch := x.size(u, 0)
	u = x.op(ops.Reshape, nil, u, x.pack(x.op(ops.Mul, nil, batch, x.channelsOf(u, window)), x.i32(total)))
	y := x.op(ops.UnsortedSegmentSum, nil, x.transpose(u, []int{1, 0}), constant(places), x.i32(size))
	sizes := []*value{batch, x.i32(-1)}
	for _, s := range image {
		sizes = append(sizes, x.i32(s))
	}
	return x.op(ops.Reshape, nil, x.transpose(y, []int{1, 0}), x.pack(sizes...))
}

// channelsOf returns the number of channels in columns, which have the elements of a window for each channel.
func (x *site) channelsOf(u *value, window int) *value {
	if u.rank() != 3 {
		refuse("columns of rank %d (-1: not known): expected 3", u.rank())
	}
	return x.op(ops.TruncateDiv, nil, x.size(u, 1), x.i32(window))
}

// placeOf returns the index in the image of element i of all windows, ordered by their elements, then by windows; -1 for padding.
func placeOf(i int, image, block, counts, dilations, strides, pads []int) int {
	place, scale := 0, 1
	windows := 1
	for _, c := range counts {
		windows *= c
	}
	at, in := i%windows, i/windows
	for k := len(image) - 1; k >= 0; k-- {
		p := at%counts[k]*strides[k] + in%block[k]*dilations[k] - pads[k]
		if p < 0 || p >= image[k] {
			return -1
		}
		at, in = at/counts[k], in/block[k]
		place, scale = place+p*scale, scale*image[k]
	}
	return place
}

// maxUnpool puts maxima back where a pool found them.
func maxUnpool(x *site) *value {
	u, rank := x.at(0), x.rank(0)
	kernel := x.intList("kernel_shape", nil)
	n := len(kernel)
	strides, pads := x.intList("strides", slices.Repeat([]int{1}, n)), x.intList("pads", make([]int, 2*n))
	if n != rank-2 || len(strides) != n || len(pads) != 2*n {
		refuse("windows %v, strides %v and pads %v for rank %d", kernel, strides, pads, rank)
	}
	if x.has(2) { // ONNX and ONNX Runtime index images of different sizes
		refuse("output_shape")
	}
	sizes := []*value{x.size(u, 0), x.size(u, 1)}
	for i := range n {
		most := x.op(ops.Mul, nil, x.op(ops.Sub, nil, x.size(u, i+2), x.i32(1)), x.i32(strides[i]))
		sizes = append(sizes, x.op(ops.AddV2, nil, most, x.i32(kernel[i]-pads[i]-pads[n+i])))
	}
	shape := x.pack(sizes...)
	zeros := x.op(ops.Fill, nil, x.op(ops.Prod, graph.Attrs{"keep_dims": true}, shape, x.ints(0)), constant(tensor.New(u.dtype)))
	at := x.op(ops.ExpandDims, nil, x.reshape(x.at(1), -1), x.i32(1))
	y := x.op(ops.Reshape, nil, x.op(ops.TensorScatterUpdate, nil, zeros, at, x.reshape(u, -1)), shape)
	return x.sized(y, slices.Repeat([]int{-1}, rank))
}

// tensorScatter writes into a cache [batch, ...], from a position for each row; in circular mode it wraps around.
func tensorScatter(x *site) *value {
	cache, update, rank := x.at(0), x.at(1), x.rank(0)
	axis := axisOf(x.int("axis", -2), rank)
	if axis == 0 || update.rank() != rank {
		refuse("axis %d of ranks %d and %d", axis, rank, update.rank())
	}
	how := x.str("mode", "linear")
	if how != "linear" && how != "circular" {
		refuse("mode %q", how)
	}
	front := append([]int{0, axis}, without(rank, 0, axis)...)
	back := inverse(front)
	u, v := x.transpose(cache, front), x.transpose(update, front)
	size, count := x.size(u, 1), x.size(v, 1)
	from := x.op(ops.BroadcastTo, nil, x.i32(0), x.pack(x.size(u, 0)))
	if x.has(2) {
		if from = x.reshape(x.at(2), -1); how == "circular" {
			from = x.op(ops.FloorMod, nil, from, x.cast(size, from.dtype))
		}
		from = x.narrow(from)
	}
	at := x.op(ops.Sub, nil, x.op(ops.ExpandDims, nil, x.op(ops.Range, nil, x.i32(0), size, x.i32(1)), x.i32(0)), x.op(ops.ExpandDims, nil, from, x.i32(1)))
	if how == "circular" {
		at = x.op(ops.FloorMod, nil, at, size)
	}
	hit := x.op(ops.LogicalAnd, nil, x.op(ops.GreaterEqual, nil, at, x.i32(0)), x.op(ops.Less, nil, at, count))
	at = x.op(ops.SelectV2, nil, hit, at, x.i32(0))
	new := x.op(ops.GatherV2, graph.Attrs{"batch_dims": int64(1)}, v, at, x.i32(1))
	for range rank - 2 {
		hit = x.op(ops.ExpandDims, nil, hit, x.i32(-1))
	}
	return x.transpose(x.op(ops.SelectV2, nil, hit, new, u), back)
}

func depthToSpace(x *site) *value {
	block := x.int("blocksize", 0)
	if x.str("mode", "DCR") == "DCR" {
		return x.channelsFirst(x.op(ops.DepthToSpace, graph.Attrs{"block_size": int64(block)}, x.channelsLast(x.at(0))))
	}
	u := x.at(0)
	dims := u.dims()
	if len(dims) != 4 || dims[1] < 0 || block < 1 || dims[1]%(block*block) != 0 {
		refuse("mode CRD with blocks of %d of shape %v", block, dims)
	}
	c := dims[1] / block / block
	n, h, w := x.size(u, 0), x.size(u, 2), x.size(u, 3)
	v := x.op(ops.Reshape, nil, u, x.pack(n, x.i32(c), x.i32(block), x.i32(block), h, w))
	v = x.transpose(v, []int{0, 1, 4, 2, 5, 3})
	wide := func(s *value) *value { return x.op(ops.Mul, nil, s, x.i32(block)) }
	return x.op(ops.Reshape, nil, v, x.pack(n, x.i32(c), wide(h), wide(w)))
}

// spaceToDepth in mode CRD puts the elements of blocks after the channels.
func spaceToDepth(x *site) *value {
	if block := x.int("blocksize", 0); x.str("mode", "DCR") == "CRD" {
		u := x.at(0)
		if u.rank() != 4 || block < 1 {
			refuse("mode CRD with blocks of %d of rank %d", block, u.rank())
		}
		n, c := x.size(u, 0), x.size(u, 1)
		parts := func(axis int) *value { return x.op(ops.TruncateDiv, nil, x.size(u, axis), x.i32(block)) }
		h, w := parts(2), parts(3)
		v := x.op(ops.Reshape, nil, u, x.pack(n, c, h, x.i32(block), w, x.i32(block)))
		return x.op(ops.Reshape, nil, x.transpose(v, []int{0, 1, 3, 5, 2, 4}), x.pack(n, x.op(ops.Mul, nil, c, x.i32(block*block)), h, w))
	}
	return x.channelsFirst(x.op(ops.SpaceToDepth, graph.Attrs{"block_size": int64(x.int("blocksize", 0))}, x.channelsLast(x.at(0))))
}
