package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// boxOperators select boxes in images.
var boxOperators = operators{"NonMaxSuppression": one(nonMaxSuppression)}

// nonMaxSuppression selects among boxes [images, boxes, 4] by scores [images, classes, boxes]; it returns (image, class, box).
func nonMaxSuppression(x *site) *value {
	boxes := x.at(0)
	number := func(i int, d tensor.DType, def *value) *value {
		if !x.has(i) {
			return def
		}
		return x.cast(x.op(ops.Reshape, nil, x.at(i), x.ints()), d)
	}
	most := number(2, tensor.Int64, x.scalar(tensor.Int64, 0))
	overlap, score := number(3, tensor.Float32, x.scalar(tensor.Float32, 0)), number(4, tensor.Float32, x.scalar(tensor.Float32, math.Inf(-1)))
	if x.flag("center_point_box", false) {
		boxes = x.corners(boxes)
	}
	return x.sized(x.op(ops.SelectBoxes, nil, boxes, x.at(1), most, overlap, score), []int{-1, 3})
}

// corners converts (center x, center y, width, height) to (y1, x1, y2, x2).
func (x *site) corners(boxes *value) *value {
	p := x.ops(ops.Split, graph.Attrs{"num_split": int64(4)}, x.i32(2), boxes)
	half := func(i int) *value { return x.op(ops.Mul, nil, p[i], x.scalar(boxes.dtype, 0.5)) }
	side := func(d *ops.Def, center, extent int) *value { return x.op(d, nil, p[center], half(extent)) }
	return x.concat(2, side(ops.Sub, 1, 3), side(ops.Sub, 0, 2), side(ops.AddV2, 1, 3), side(ops.AddV2, 0, 2))
}
