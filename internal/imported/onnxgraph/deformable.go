package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/onnx"
)

// deformConv is a convolution whose filter reads each element at its own offset, between pixels. It becomes a convolution by
// filters of one pixel, with everything that they read as channels.
func deformConv(x *site) *value {
	image, filter, offsets := x.plain(x.at(0)), x.at(1), x.at(2)
	dims := filter.dims()
	if len(dims) != 4 || slices.Contains(dims, -1) || slices.Contains(dims, 0) || image.rank() != 4 {
		refuse("filters of shape %v for images of rank %d: expected a known shape of rank 4 for both", dims, image.rank())
	}
	if k := x.intList("kernel_shape", dims[2:]); !slices.Equal(k, dims[2:]) {
		refuse("kernel_shape %v for filters of shape %v", k, dims)
	}
	w, groups := x.window(dims[2:]), x.int("offset_group", 1)
	if w.same || groups < 1 {
		refuse("auto_pad, or %d groups of offsets", groups)
	}
	read := x.deformed(image, offsets, w, groups)
	one := x.reshape(filter, dims[0], dims[1]*dims[2]*dims[3], 1, 1)
	here := *x
	here.n = &onnx.Node{Op: "Conv", Name: x.n.Name, Inputs: x.n.Inputs, Attrs: map[string]any{"group": x.int("group", 1)}}
	return here.convolved(x.sized(read, []int{-1, -1, -1, -1}), one, optional(x, 3), nil)
}

// deformed returns the elements that filters read, [n, channels*window, height, width].
func (x *site) deformed(image, offsets *value, w windowed, groups int) *value {
	d, window := sampled(image.dtype), w.kernel[0]*w.kernel[1]
	n, high, wide := x.size(image, 0), x.size(offsets, 2), x.size(offsets, 3)
	channels := x.op(ops.TruncateDiv, nil, x.size(image, 1), x.i32(groups)) // channels of a group
	rows := x.op(ops.Mul, nil, n, x.i32(groups))
	off := x.op(ops.Reshape, nil, x.cast(offsets, d), x.pack(rows, x.i32(window), x.i32(2), high, wide))
	y, z := x.readAt(image, off, w, 0), x.readAt(image, off, w, 1)
	grid := x.op(ops.Reshape, nil, x.op(ops.Pack, graph.Attrs{"axis": int64(4)}, z, y), x.pack(rows, x.op(ops.Mul, nil, x.i32(window), high), wide, x.i32(2)))
	pixels := x.op(ops.Reshape, nil, x.cast(image, d), x.pack(rows, channels, x.size(image, 2), x.size(image, 3)))
	read := x.op(ops.GridSample, nil, pixels, grid)
	if x.has(4) {
		read = x.op(ops.Reshape, nil, read, x.pack(rows, channels, x.i32(window), high, wide))
		mask := x.op(ops.Reshape, nil, x.cast(x.at(4), d), x.pack(rows, x.i32(1), x.i32(window), high, wide))
		read = x.op(ops.Mul, nil, read, mask)
	}
	all := x.op(ops.Mul, nil, x.size(image, 1), x.i32(window))
	return x.cast(x.op(ops.Reshape, nil, read, x.pack(n, all, high, wide)), image.dtype)
}

// readAt returns where along an axis filters read, [n*groups, window, height, width]: the image's borders are -1 and 1.
func (x *site) readAt(image, offsets *value, w windowed, axis int) *value {
	d := offsets.dtype
	shape := []int{1, 1, 1, 1}
	shape[2+axis] = -1
	at := x.op(ops.Range, nil, x.i32(0), x.size(offsets, 3+axis), x.i32(1))
	at = x.plus(x.times(x.cast(at, d), float64(w.strides[axis])), -float64(w.before[axis]))
	var inside []int
	for i := range w.kernel[0] * w.kernel[1] {
		k := [2]int{i / w.kernel[1], i % w.kernel[1]}
		inside = append(inside, k[axis]*w.dilations[axis])
	}
	from := x.op(ops.AddV2, nil, x.reshape(at, shape...), x.cast(x.reshape(x.ints(inside...), 1, -1, 1, 1), d))
	at = x.op(ops.AddV2, nil, from, x.op(ops.GatherV2, nil, offsets, x.i32(axis), x.i32(2)))
	return x.plus(x.op(ops.RealDiv, nil, x.plus(x.times(at, 2), 1), x.cast(x.size(image, 2+axis), d)), -1)
}
