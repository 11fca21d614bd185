package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// boxOperators choose boxes in images.
var boxOperators = operators{"NonMaxSuppression": one(nonMaxSuppression).but("an open number of images or classes, and more than 512 of both together")}

// maxSelections bounds images times classes: each pair is a node.
const maxSelections = 512

// nonMaxSuppression chooses among the boxes [images, boxes, 4] by their scores [images, classes, boxes]; it returns (image, class, box).
func nonMaxSuppression(x *site) *value {
	boxes, scores := x.at(0), x.at(1)
	dims := scores.dims()
	if len(dims) != 3 || dims[0] < 1 || dims[1] < 1 || dims[1] > maxSelections/dims[0] {
		refuse("scores of shape %v: expected known numbers of images and classes, of at most %d together", dims, maxSelections)
	}
	most := x.i32(0)
	if x.has(2) {
		v := x.op(ops.Reshape, nil, x.at(2), x.ints())
		limit := x.scalar(v.dtype, math.MaxInt32)
		most = x.cast(x.op(ops.Minimum, nil, v, limit), tensor.Int32)
	}
	threshold := func(i int, def float64) *value {
		if !x.has(i) {
			return x.scalar(tensor.Float32, def)
		}
		return x.op(ops.Reshape, nil, x.at(i), x.ints())
	}
	overlap, score := threshold(3, 0), threshold(4, math.Inf(-1))
	if x.flag("center_point_box", false) {
		boxes = x.corners(boxes)
	}
	var all []*value
	for image := range dims[0] {
		own := x.item(boxes, image)
		each := x.item(scores, image)
		for class := range dims[1] {
			at := x.op(ops.NonMaxSuppressionV3, nil, own, x.item(each, class), most, overlap, score)
			column := x.cast(x.op(ops.ExpandDims, nil, at, x.i32(1)), tensor.Int64)
			place := x.cast(x.op(ops.Reshape, nil, x.ints(image, class), x.ints(1, 2)), tensor.Int64)
			lead := x.op(ops.BroadcastTo, nil, place, x.pack(x.op(ops.Size, graph.Attrs{"out_type": tensor.Int32}, at), x.i32(2)))
			all = append(all, x.concat(1, lead, column))
		}
	}
	return x.concat(0, all...)
}

// corners makes (center x, center y, width, height) into (y1, x1, y2, x2).
func (x *site) corners(boxes *value) *value {
	p := x.ops(ops.Split, graph.Attrs{"num_split": int64(4)}, x.i32(2), boxes)
	half := func(i int) *value { return x.op(ops.Mul, nil, p[i], x.scalar(boxes.dtype, 0.5)) }
	side := func(d *ops.Def, center, extent int) *value { return x.op(d, nil, p[center], half(extent)) }
	return x.concat(2, side(ops.Sub, 1, 3), side(ops.Sub, 0, 2), side(ops.AddV2, 1, 3), side(ops.AddV2, 0, 2))
}
