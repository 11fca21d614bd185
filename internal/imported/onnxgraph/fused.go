package onnxgraph

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// fusedOperators are operators that ONNX Runtime's optimizer fuses, and operators that were in its domain before the default one.
var fusedOperators = operators{
	"FusedConv": one(fusedConv), "FusedGemm": one(fusedGemm), "TransposeMatMul": one(fusedMatMul), "Inverse": one(inverseOf), "CDist": one(distances),
	"Trilu": one(trilu), "GatherND": one(gatherND), "Pad": one(padNode), "ExpandDims": one(expandDims), "GroupNorm": one(groupNormRuntime),
}

// activated applies the node's activation.
func (x *site) activated(u *value, parameters func(i int, def float64) float64) *value {
	switch name := x.str("activation", ""); name {
	case "":
		return u
	case "Relu":
		return x.each(ops.Relu, nil, u)
	case "Tanh":
		return x.each(ops.Tanh, nil, u)
	case "Sigmoid":
		return x.each(ops.Sigmoid, nil, u)
	case "LeakyRelu":
		return x.pieces(u, x.times(u, parameters(0, 0.01)))
	case "Clip":
		return x.bounded(u, parameters(0, 0), parameters(1, 0))
	case "HardSigmoid":
		return x.bounded(x.plus(x.times(u, parameters(0, 0.2)), parameters(1, 0.5)), 0, 1)
	default:
		refuse("activation %s", name)
		return nil
	}
}

// fusedConv is a convolution, a sum if there is input 3, and an activation.
func fusedConv(x *site) *value {
	y := x.convolved(x.at(0), x.at(1), optional(x, 2), nil)
	if x.has(3) {
		y = x.each(ops.AddV2, nil, y, x.at(3))
	}
	list := x.floatList("activation_params")
	return x.activated(y, func(i int, def float64) float64 {
		if i < len(list) {
			return float64(list[i])
		}
		return def
	})
}

func fusedGemm(x *site) *value {
	y := gemm(x)
	names := []string{"activation_alpha", "activation_beta"}
	x.attr("activation_gamma")
	for _, name := range names {
		x.attr(name)
	}
	return x.activated(y, func(i int, def float64) float64 { return x.float(names[i], float32(def)) })
}

func inverseOf(x *site) *value { return x.op(ops.MatrixInverse, nil, x.at(0)) }

// distances returns the distances between all pairs of rows.
func distances(x *site) *value {
	metric := x.str("metric", "sqeuclidean")
	a, b := x.op(ops.ExpandDims, nil, x.at(0), x.i32(1)), x.op(ops.ExpandDims, nil, x.at(1), x.i32(0))
	y := x.op(ops.Sum, nil, x.op(ops.Square, nil, x.op(ops.Sub, nil, a, b)), x.i32(2))
	switch metric {
	case "sqeuclidean":
		return y
	case "euclidean":
		return x.op(ops.Sqrt, nil, y)
	}
	refuse("metric %s", metric)
	return nil
}

func expandDims(x *site) *value {
	axis := x.knownInts(1)
	if len(axis) != 1 {
		refuse("axes %v", axis)
	}
	return x.op(ops.ExpandDims, nil, x.at(0), x.i32(axis[0]))
}

// batchFirst moves the second last axis to the front, where products have the batch.
func (x *site) batchFirst(u *value, rank int) *value {
	return x.transpose(u, append([]int{rank - 2}, without(rank, rank-2)...))
}

// groupNormRuntime normalizes groups of channels, with channels last, and may apply SiLU.
func groupNormRuntime(x *site) *value {
	groups, silu := x.int("groups", 1), x.flag("activation", false)
	u := x.plain(x.at(0))
	dims := u.dims()
	if len(dims) != 4 || dims[3] < 1 || groups < 1 || dims[3]%groups != 0 || !x.flag("channels_last", true) {
		refuse("%d groups of images of shape %v", groups, dims)
	}
	v := x.op(ops.Reshape, nil, u, x.pack(x.size(u, 0), x.size(u, 1), x.size(u, 2), x.i32(groups), x.i32(dims[3]/groups)))
	keep := graph.Attrs{"keep_dims": true}
	axes := x.ints(1, 2, 4)
	centered := x.op(ops.Sub, nil, v, x.op(ops.Mean, keep, v, axes))
	variance := x.op(ops.Mean, keep, x.op(ops.Square, nil, centered), axes)
	v = x.op(ops.Mul, nil, centered, x.op(ops.Rsqrt, nil, x.plus(variance, x.float("epsilon", 1e-5))))
	y := x.sized(x.op(ops.Reshape, nil, v, x.shape(u)), dims)
	y = x.op(ops.AddV2, nil, x.op(ops.Mul, nil, y, x.at(1)), x.at(2))
	if silu {
		y = x.op(ops.Mul, nil, y, x.op(ops.Sigmoid, nil, y))
	}
	return y
}
