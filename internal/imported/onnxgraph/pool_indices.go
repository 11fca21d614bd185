package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// maxPoolIndices is a max pool that also returns the index into the input of each maximum. Images are in row-major order or, with
// columns, in column-major order.
func (x *site) maxPoolIndices(w windowed, columns bool) []*value {
	u := x.channelsLast(x.at(0))
	if w.n == 2 && !w.padded() && !w.same && !w.ceil && !columns && allOnes(w.dilations) {
		return x.wholeIndices(u, w)
	}
	whole := w.partial()
	pixels, total := x.pixelNumbers(u, w.n, columns)
	u, pixels = x.padLast(u, whole, lowest(u.dtype)), x.padLast(pixels, whole, -1)
	var y, at *value
	x.shifts(whole, func(shift func(v *value) *value) {
		v, from := shift(u), shift(pixels)
		if y == nil {
			y, at = v, from
			return
		}
		more := x.op(ops.Greater, nil, v, y)
		y, at = x.op(ops.SelectV2, nil, more, v, y), x.op(ops.SelectV2, nil, more, from, at)
	})
	// Channel c of image n begins at (n*channels+c)*total.
	n, c := x.size(y, 0), x.size(y, w.n+1)
	first := x.op(ops.Range, nil, x.i32(0), x.op(ops.Mul, nil, n, c), x.i32(1))
	begins := x.op(ops.Mul, nil, x.cast(first, tensor.Int64), total)
	at = x.op(ops.AddV2, nil, at, x.op(ops.Reshape, nil, begins, x.pack(slices.Concat([]*value{n}, slices.Repeat([]*value{x.i32(1)}, w.n), []*value{c})...)))
	image := x.channelsLast(x.at(0))
	return []*value{x.channelsFirst(x.begun(y, image, w)), x.channelsFirst(x.begun(at, image, w))}
}

// pixelNumbers returns the index of each pixel of an image, [1, sizes..., 1], and the number of pixels.
func (x *site) pixelNumbers(u *value, n int, columns bool) (pixels, total *value) {
	var sizes []*value
	for i := range n {
		sizes = append(sizes, x.size(u, i+1))
	}
	total = x.op(ops.Prod, nil, x.pack(sizes...), x.i32(0))
	pixels = x.cast(x.op(ops.Range, nil, x.i32(0), total, x.i32(1)), tensor.Int64)
	if columns {
		slices.Reverse(sizes)
	}
	one := x.i32(1)
	pixels = x.op(ops.Reshape, nil, pixels, x.pack(slices.Concat([]*value{one}, sizes, []*value{one})...))
	if columns {
		back := without(n+2, 0, n+1)
		slices.Reverse(back)
		pixels = x.transpose(pixels, slices.Concat([]int{0}, back, []int{n + 1}))
	}
	return pixels, x.cast(total, tensor.Int64)
}

// wholeIndices is maxPoolIndices for windows that all lie inside the image.
func (x *site) wholeIndices(u *value, w windowed) []*value {
	attrs := w.attrs()
	attrs["ksize"], attrs["include_batch_in_index"], attrs["Targmax"] = listed(w.kernel), true, tensor.Int64
	y := x.ops(ops.MaxPoolWithArgmax, attrs, u)
	// Convert the index in [n, h, w, c] to one in [n, c, h, w].
	at := y[1]
	size := func(i int) *value { return x.cast(x.size(u, i), tensor.Int64) }
	channels, area := size(3), x.each(ops.Mul, nil, size(1), size(2))
	channel, pixel := x.op(ops.FloorMod, nil, at, channels), x.op(ops.FloorDiv, nil, at, channels)
	image, place := x.op(ops.FloorDiv, nil, pixel, area), x.op(ops.FloorMod, nil, pixel, area)
	index := x.op(ops.AddV2, nil, x.op(ops.Mul, nil, x.op(ops.AddV2, nil, x.op(ops.Mul, nil, image, channels), channel), area), place)
	return []*value{x.channelsFirst(y[0]), x.channelsFirst(index)}
}
