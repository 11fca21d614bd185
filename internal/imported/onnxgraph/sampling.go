package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// samplingOperators read images between their pixels.
var samplingOperators = operators{"RoiAlign": one(roiAlign), "GridSample": one(gridSample), "AffineGrid": one(affineGrid)}

// sampled returns the element type that these operators compute in: narrower types use float32.
func sampled(d tensor.DType) tensor.DType {
	if d == tensor.Float64 {
		return d
	}
	return tensor.Float32
}

// roiAlign crops regions from images. Before version 16 regions begin at the corner of a pixel, since then optionally.
func roiAlign(x *site) *value {
	u := x.plain(x.at(0))
	d := sampled(u.dtype)
	mode, by := x.str("mode", "avg"), "output_half_pixel"
	if x.version >= 16 {
		by = x.str("coordinate_transformation_mode", "half_pixel")
	}
	if mode != "avg" && mode != "max" || by != "half_pixel" && by != "output_half_pixel" {
		refuse("mode %s, coordinate_transformation_mode %s", mode, by)
	}
	attrs := graph.Attrs{"maximum": mode == "max", "half_pixel": by == "half_pixel", "scale": float32(x.float("spatial_scale", 1)), "samples": int64(x.int("sampling_ratio", 0)),
		"high": int64(x.int("output_height", 1)), "wide": int64(x.int("output_width", 1))}
	y := x.op(ops.RoiAlign, attrs, x.cast(u, d), x.cast(x.at(1), d), x.cast(x.at(2), tensor.Int64))
	sizes := []int{-1, -1, x.int("output_height", 1), x.int("output_width", 1)}
	if dims := u.dims(); len(dims) == 4 {
		sizes[1] = dims[1]
	}
	return x.cast(x.sized(y, sizes), u.dtype)
}

// sampleModes has the names of modes, which changed in version 20.
var sampleModes = map[string]string{"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}

func gridSample(x *site) *value {
	u := x.plain(x.at(0))
	d, rank := sampled(u.dtype), x.rank(0)
	mode, padding := x.str("mode", "linear"), x.str("padding_mode", "zeros")
	if sampleModes[mode] == "" || rank != 4 && (rank != 5 || sampleModes[mode] == "cubic") {
		refuse("mode %s of images of rank %d", mode, rank)
	}
	attrs := graph.Attrs{"mode": []byte(sampleModes[mode]), "padding": []byte(padding), "align_corners": x.flag("align_corners", false)}
	y := x.op(ops.GridSample, attrs, x.cast(u, d), x.cast(x.at(1), d))
	return x.cast(x.sized(y, slices.Repeat([]int{-1}, rank)), u.dtype)
}

// affineGrid returns the grid [n, sizes..., dimensions] for maps [n, dimensions, dimensions+1] and image shapes [n, channels, sizes...].
func affineGrid(x *site) *value {
	theta, size := x.at(0), x.at(1)
	n := size.length() - 2
	if dims := theta.dims(); n < 0 && len(dims) == 3 {
		n = dims[1]
	}
	if n != 2 && n != 3 {
		refuse("%d directions (-1, -3: not known): expected 2 or 3", n)
	}
	d := sampled(theta.dtype)
	one := x.scalar(d, 1)
	full := x.op(ops.StridedSlice, nil, size, x.ints(2), x.ints(2+n), x.ints(1))
	var columns []*value
	for i := n - 1; i >= 0; i-- { // x comes first
		shape := slices.Repeat([]int{1}, n)
		shape[i] = -1
		columns = append(columns, x.op(ops.BroadcastTo, nil, x.reshape(x.gridLine(x.item(size, i+2), d), shape...), full))
	}
	columns = append(columns, x.op(ops.Fill, nil, full, one))
	points := x.reshape(x.op(ops.Pack, graph.Attrs{"axis": int64(n)}, columns...), -1, n+1)
	y := x.op(ops.BatchMatMulV2, graph.Attrs{"adj_y": true}, points, x.cast(theta, d)) // [n, points, directions]
	batch := x.op(ops.StridedSlice, nil, size, x.ints(0), x.ints(1), x.ints(1))
	y = x.op(ops.Reshape, nil, y, x.concat(0, batch, full, x.cast(x.ints(n), size.dtype)))
	return x.cast(x.sized(y, append(slices.Repeat([]int{-1}, n+1), n)), theta.dtype)
}

// gridLine returns the positions of an axis's pixels: -1 and 1 are the image's borders or, with align_corners, its first and last pixel.
func (x *site) gridLine(size *value, d tensor.DType) *value {
	n := x.cast(size, d)
	at := x.cast(x.op(ops.Range, nil, x.i32(0), x.cast(size, tensor.Int32), x.i32(1)), d)
	twice := x.op(ops.AddV2, nil, at, at)
	if x.flag("align_corners", false) {
		last := x.op(ops.Maximum, nil, x.plus(n, -1), x.scalar(d, 1))
		return x.plus(x.op(ops.RealDiv, nil, twice, last), -1)
	}
	return x.plus(x.op(ops.RealDiv, nil, x.plus(twice, 1), n), -1)
}
