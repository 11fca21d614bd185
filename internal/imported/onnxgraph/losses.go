package onnxgraph

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// lossOperators compare log probabilities with classes.
var lossOperators = operators{"NegativeLogLikelihoodLoss": one(likelihoodLoss), "SoftmaxCrossEntropyLoss": as(crossEntropyLoss)}

// classesLast moves axis 1 to the end.
func (x *site) classesLast(u *value) *value {
	if u.rank() < 2 {
		refuse("rank %d (-1: not known): expected at least 2", u.rank())
	}
	return x.transpose(u, toLast(u.rank()))
}

func likelihoodLoss(x *site) *value { return x.likelihood(x.classesLast(x.at(0))) }

// crossEntropyLoss returns the loss of a softmax, and the log softmax.
func crossEntropyLoss(x *site) []*value {
	u := x.classesLast(x.at(0))
	logs := x.op(ops.LogSoftmax, nil, u)
	return []*value{x.likelihood(logs), x.transpose(logs, fromLast(u.rank()))}
}

// likelihood takes log probabilities with the classes last. An ignored class has loss 0, and no weight in the mean.
func (x *site) likelihood(logs *value) *value {
	target, rank, d := x.at(1), logs.rank(), logs.dtype
	if target.dtype != tensor.Int32 {
		target = x.cast(target, tensor.Int64)
	}
	shape := x.shape(target)
	flat := func(v *value) *value { return x.reshape(v, -1) }
	classes := x.size(logs, rank-1)
	target = flat(target)
	rows := x.op(ops.Reshape, nil, logs, x.pack(x.i32(-1), classes))
	var ignored *value
	if at := x.attr("ignore_index"); at != nil {
		ignored = x.op(ops.Equal, nil, x.cast(target, tensor.Int64), constant(tensor.Scalar(int64(x.int("ignore_index", 0)))))
		target = x.op(ops.SelectV2, nil, ignored, x.scalar(target.dtype, 0), target)
	}
	zero := x.scalar(d, 0)
	loss := x.op(ops.Neg, nil, x.op(ops.GatherV2, graph.Attrs{"batch_dims": int64(1)}, rows, target, x.i32(1)))
	weight := x.op(ops.BroadcastTo, nil, x.scalar(d, 1), x.shape(target))
	if x.has(2) {
		weight = x.op(ops.GatherV2, nil, x.at(2), target, x.i32(0))
		loss = x.op(ops.Mul, nil, loss, weight)
	}
	if ignored != nil {
		loss, weight = x.op(ops.SelectV2, nil, ignored, zero, loss), x.op(ops.SelectV2, nil, ignored, zero, weight)
	}
	sum := func(v *value) *value { return x.op(ops.Sum, nil, v, x.ints(0)) }
	switch how := x.str("reduction", "mean"); how {
	case "none":
		return x.op(ops.Reshape, nil, loss, shape)
	case "sum":
		return sum(loss)
	case "mean":
		return x.op(ops.RealDiv, nil, sum(loss), sum(weight))
	default:
		refuse("reduction %q", how)
		return nil
	}
}
