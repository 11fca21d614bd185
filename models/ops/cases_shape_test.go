package ops_test

import (
	"math"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

func shapeCases() []opCase {
	unary := func(fn, detail string, x operand, op unaryOp, ref func(in []*array) *array) opCase {
		return opCase{fn: fn, detail: detail, in: []operand{x}, build: first(op), ref: ref}
	}
	same := func(in []*array) *array { return mapped(func(v float64) float64 { return v })(in) }
	trunc := mapped(func(v float64) float64 { return v })
	to := func(d tensor.DType) unaryOp {
		return func(c models.Context, x *G.Node) *G.Node { return ops.Cast(c, x, d) }
	}
	// There and back: the rounding to the model's float type is within tolerance.
	round := func(c models.Context, x *G.Node) *G.Node {
		other := map[tensor.DType]tensor.DType{tensor.Float32: tensor.Float64, tensor.Float64: tensor.Float32}
		d := models.GraphType(x.Dtype())
		return ops.Cast(c, ops.Cast(c, x, other[d]), d)
	}
	slice := func(in []*array) *array {
		return fill([]int{in[0].shape[0], 2, 3}, func(i []int) float64 { return in[0].at(i[0], i[1]+1, i[2]+2) })
	}
	pad := func(in []*array) *array {
		return fill([]int{in[0].shape[0], 6}, func(i []int) float64 {
			if i[1] < 1 || i[1] > 3 {
				return 0
			}
			return in[0].at(i[0], i[1]-1)
		})
	}
	concat := func(in []*array) *array {
		return fill([]int{in[0].shape[0], 5}, func(i []int) float64 {
			if i[1] < 2 {
				return in[0].at(i...)
			}
			return in[1].at(i[0], i[1]-2)
		})
	}
	stack := func(in []*array) *array {
		return &array{append([]int{2 * in[0].shape[0]}, in[0].shape[1:]...), append(append([]float64{}, in[0].data...), in[1].data...)}
	}
	bytes := batch(4).in(0, 256).of(tensor.Uint8)
	return []opCase{
		unary("Reshape", "", batch(2, 6), func(c models.Context, x *G.Node) *G.Node { return ops.Reshape(c, x, x.Shape()[0], 3, 4) },
			reshaped(func(s []int) []int { return []int{s[0], 3, 4} })),
		unary("Reshape", "fold", batch(2, 6), func(c models.Context, x *G.Node) *G.Node { return ops.Reshape(c, x, -1, 6) },
			reshaped(func(s []int) []int { return []int{s[0] * 2, 6} })),
		unary("Flatten", "", batch(2, 3, 2), ops.Flatten, reshaped(func(s []int) []int { return []int{s[0], 12} })),
		unary("Flatten", "vector", batch(), ops.Flatten, reshaped(func(s []int) []int { return []int{s[0], 1} })),
		unary("ExpandDims", "", batch(3), func(c models.Context, x *G.Node) *G.Node { return ops.ExpandDims(c, x, 1) },
			reshaped(func(s []int) []int { return []int{s[0], 1, 3} })),
		unary("Squeeze", "", batch(1, 3, 1), func(c models.Context, x *G.Node) *G.Node { return ops.Squeeze(c, x, 1, -1) },
			reshaped(func(s []int) []int { return []int{s[0], 3} })),
		unary("Transpose", "", batch(2, 3), func(c models.Context, x *G.Node) *G.Node { return ops.Transpose(c, x, 2, 0, 1) },
			func(in []*array) *array {
				s := in[0].shape
				return fill([]int{s[2], s[0], s[1]}, func(i []int) float64 { return in[0].at(i[1], i[2], i[0]) })
			}),
		unary("Slice", "", batch(3, 6), func(c models.Context, x *G.Node) *G.Node {
			return ops.Slice(c, x, []int{0, 1, 2}, []int{-1, 2, 3})
		}, slice),
		unary("Pad", "", batch(3), func(c models.Context, x *G.Node) *G.Node { return ops.Pad(c, x, [][2]int{{}, {1, 2}}) }, pad),
		unary("Tile", "", batch(2), func(c models.Context, x *G.Node) *G.Node { return ops.Tile(c, x, 2, 3) }, func(in []*array) *array {
			s := in[0].shape
			return fill([]int{2 * s[0], 6}, func(i []int) float64 { return in[0].at(i[0]%s[0], i[1]%2) })
		}),
		{fn: "Concat", in: []operand{batch(2), batch(3)}, ref: concat,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Concat(c, -1, in...) }},
		{fn: "Concat", detail: "batch", in: []operand{batch(2), batch(2)}, ref: stack,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Concat(c, 0, in...) }},
		{fn: "Concat", detail: "batch of images", in: []operand{batch(2, 3, 1), batch(2, 3, 1)}, ref: stack,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Concat(c, 0, in...) }},
		{fn: "Concat", detail: "batch of vectors", in: []operand{batch(), batch()}, ref: stack,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Concat(c, 0, in...) }},
		{fn: "Cast", in: []operand{batch(3)}, build: first(round), ref: same},
		{fn: "Cast", detail: "bytes", in: []operand{bytes}, build: first(to(tensor.Float32)), ref: same, noGrad: true},
		{fn: "Cast", detail: "labels", in: []operand{bytes}, build: first(to(tensor.Int64)), ref: trunc, noGrad: true},
	}
}

func linearCases() []opCase {
	mul := func(ta, tb bool) func(c models.Context, in []*G.Node) *G.Node {
		return func(c models.Context, in []*G.Node) *G.Node { return ops.MatMulT(c, in[0], in[1], ta, tb) }
	}
	many := func(ta, tb bool) func(c models.Context, in []*G.Node) *G.Node {
		return func(c models.Context, in []*G.Node) *G.Node { return ops.BatchMatMul(c, in[0], in[1], ta, tb) }
	}
	biased := zipped(func(x, y float64) float64 { return x + y })
	return []opCase{
		{fn: "MatMul", in: []operand{batch(5), param(5, 4)}, build: second(ops.MatMul), ref: product(false, false)},
		{fn: "MatMulT", detail: "b", in: []operand{batch(5), param(4, 5)}, build: mul(false, true), ref: product(false, true)},
		{fn: "MatMulT", detail: "a", in: []operand{batch(5), batch(4)}, build: mul(true, false), ref: product(true, false)},
		{fn: "MatMulT", detail: "both", in: []operand{param(5, 2), param(4, 5)}, build: mul(true, true), ref: product(true, true)},
		{fn: "BatchMatMul", in: []operand{batch(2, 5), batch(5, 4)}, build: many(false, false), ref: product(false, false)},
		{fn: "BatchMatMul", detail: "b", in: []operand{batch(2, 5), batch(4, 5)}, build: many(false, true), ref: product(false, true)},
		{fn: "BatchMatMul", detail: "a", in: []operand{batch(5, 2), batch(5, 4)}, build: many(true, false), ref: product(true, false)},
		{fn: "BatchMatMul", detail: "both", in: []operand{batch(5, 2), batch(4, 5)}, build: many(true, true), ref: product(true, true)},
		{fn: "BatchMatMul", detail: "broadcast", in: []operand{batch(1, 2, 5), param(3, 5, 4)}, build: many(false, false), ref: summed("abik", "abij", "bjk")},
		{fn: "BatchMatMul", detail: "by a matrix", in: []operand{batch(2, 5), param(4, 5)}, build: many(false, true), ref: summed("aik", "aij", "kj")},
		{fn: "BiasAdd", in: []operand{batch(4), param(4)}, build: second(ops.BiasAdd), ref: biased},
		{fn: "BiasAdd", detail: "image", in: []operand{batch(2, 3, 4), param(4)}, build: second(ops.BiasAdd), ref: biased},
	}
}

func lossCases() []opCase {
	sparse := func(in []*array) *array {
		logp := softmaxed(true)(in[:1])
		return fill(in[1].shape, func(i []int) float64 { return -logp.at(i[0], int(in[1].at(i...))) })
	}
	// The labels are a softmax themselves: TensorFlow's gradient assumes that they are
	// normalised.
	softened := func(c models.Context, in []*G.Node) *G.Node {
		return ops.SoftmaxCrossEntropyWithLogits(c, ops.Softmax(c, in[1]), in[0])
	}
	soft := func(in []*array) *array {
		labels := softmaxed(false)(in[1:])
		logp := softmaxed(true)(in[:1])
		return fill(in[0].shape[:1], func(i []int) float64 {
			sum := 0.0
			for k := range in[0].shape[1] {
				sum -= labels.at(i[0], k) * logp.at(i[0], k)
			}
			return sum
		})
	}
	labels := func(d tensor.DType) operand { return batch().in(0, 4).of(d) }
	flip := func(f binaryOp) func(c models.Context, in []*G.Node) *G.Node {
		return func(c models.Context, in []*G.Node) *G.Node { return f(c, in[1], in[0]) }
	}
	const sx, sm, sg = "SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits", "SigmoidCrossEntropyWithLogits"
	return []opCase{
		{fn: "Softmax", in: []operand{batch(5)}, build: first(ops.Softmax), ref: softmaxed(false)},
		{fn: "Softmax", detail: "rank 3", in: []operand{batch(2, 5)}, build: first(ops.Softmax), ref: softmaxed(false)},
		{fn: "LogSoftmax", in: []operand{batch(5)}, build: first(ops.LogSoftmax), ref: softmaxed(true)},
		{fn: sx, in: []operand{batch(4), labels(tensor.Int64)}, build: flip(ops.SparseSoftmaxCrossEntropyWithLogits), ref: sparse},
		{fn: sx, detail: "int32", in: []operand{batch(4), labels(tensor.Int32)}, build: flip(ops.SparseSoftmaxCrossEntropyWithLogits), ref: sparse},
		{fn: sm, in: []operand{batch(4), batch(4)}, build: softened, ref: soft},
		{fn: sg, in: []operand{batch(4).in(-6, 6), batch(4).in(0, 1)}, build: flip(ops.SigmoidCrossEntropyWithLogits),
			ref: zipped(func(x, z float64) float64 { return -z*math.Log(sigmoid(x)) - (1-z)*math.Log(1-sigmoid(x)) }), tolerance: 1e-4},
	}
}
