package onnxgraph

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/tensor"
)

// inSteps returns the 16-bit type of a node's inputs if TensorFlow's op rounds the steps of its computation. On a CPU, ONNX Runtime
// computes in float32 and only rounds results.
func inSteps(d *ops.Def, in []*value) (tensor.DType, bool) {
	for _, v := range in {
		if eager.RoundsSteps(d, v.dtype) {
			return v.dtype, true
		}
	}
	return tensor.Invalid, false
}

// inFloat32 adds a node that computes in float32 and rounds its results.
func (b *builder) inFloat32(half tensor.DType, d *ops.Def, attrs graph.Attrs, in []*value) []*value {
	wide := make([]*value, len(in))
	for i, v := range in {
		if wide[i] = v; v.dtype == half {
			wide[i] = b.cast(v, tensor.Float32)
		}
	}
	all := b.ops(d, attrs, wide...)
	for i, y := range all {
		if y.dtype == tensor.Float32 {
			all[i] = b.cast(y, half)
		}
	}
	return all
}
