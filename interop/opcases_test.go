package interop_test

import (
	"maps"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

var f32 = graph.Attrs{"T": tensor.Float32}

// of adds attributes to T=float32.
func of(pairs ...any) graph.Attrs {
	a := maps.Clone(f32)
	for i := 0; i < len(pairs); i += 2 {
		a[pairs[i].(string)] = pairs[i+1]
	}
	return a
}

// window returns the attributes of convolutions and pools.
func window(padding string, stride int64, pairs ...any) graph.Attrs {
	a := of(append([]any{"padding", []byte(padding), "strides", []int64{1, stride, stride, 1}, "data_format", []byte("NHWC")}, pairs...)...)
	return a
}

func pool(padding string, size, stride int64) graph.Attrs {
	return window(padding, stride, "ksize", []int64{1, size, size, 1})
}

func norm(training bool) graph.Attrs {
	return of("U", tensor.Float32, "epsilon", float32(1e-3), "exponential_avg_factor", float32(1), "data_format", []byte("NHWC"), "is_training", training)
}

func normGrad() graph.Attrs {
	a := norm(true)
	delete(a, "exponential_avg_factor")
	return a
}

func imageOps() []opCase {
	dilated := []any{"dilations", []int64{1, 1, 1, 1}}
	x, k, dk := random(2, 7, 8, 3), random(3, 3, 3, 5), random(3, 3, 3, 2)
	xs, ks, dks := fixed(tensor.Int32, 2, 7, 8, 3), fixed(tensor.Int32, 3, 3, 3, 5), fixed(tensor.Int32, 3, 3, 3, 2)
	ones := func(n int) operand {
		return operand{dtype: tensor.Float32, shape: []int{n}, values: []float64{0.5, 1.5, 1}[:n]}
	}
	none := operand{dtype: tensor.Float32, shape: []int{0}, values: []float64{}, constant: true}
	image, channel, empty := typ(tensor.Float32, 2, 7, 8, 3), typ(tensor.Float32, 3), typ(tensor.Float32, 0)
	normed := []graph.Type{image, channel, channel, channel, channel, empty}
	return []opCase{
		{"Conv2D same", window("SAME", 1, dilated...), []operand{x, k}, float(2, 7, 8, 5), 0},
		{"Conv2D same2", window("SAME", 2, dilated...), []operand{x, k}, float(2, 4, 4, 5), 0},
		{"Conv2D valid2", window("VALID", 2, dilated...), []operand{x, k}, float(2, 3, 3, 5), 0},
		{"Conv2D explicit", window("EXPLICIT", 1, append(dilated, "explicit_paddings", []int64{0, 0, 2, 0, 1, 3, 0, 0})...), []operand{x, k}, float(2, 7, 10, 5), 0},
		{"Conv2DBackpropInput same2", window("SAME", 2, dilated...), []operand{xs, k, random(2, 4, 4, 5)}, float(2, 7, 8, 3), 0},
		{"Conv2DBackpropFilter same2", window("SAME", 2, dilated...), []operand{x, ks, random(2, 4, 4, 5)}, float(3, 3, 3, 5), 0},
		{"DepthwiseConv2dNative same2", window("SAME", 2, dilated...), []operand{x, dk}, float(2, 4, 4, 6), 0},
		{"DepthwiseConv2dNative valid", window("VALID", 1, dilated...), []operand{x, dk}, float(2, 5, 6, 6), 0},
		{"DepthwiseConv2dNativeBackpropInput same2", window("SAME", 2, dilated...), []operand{xs, dk, random(2, 4, 4, 6)}, float(2, 7, 8, 3), 0},
		{"DepthwiseConv2dNativeBackpropFilter same2", window("SAME", 2, dilated...), []operand{x, dks, random(2, 4, 4, 6)}, float(3, 3, 3, 2), 0},
		{"MaxPool same", pool("SAME", 3, 2), []operand{x}, float(2, 4, 4, 3), 0},
		{"MaxPool valid", pool("VALID", 2, 2), []operand{x}, float(2, 3, 4, 3), 0},
		{"MaxPoolGrad same", pool("SAME", 3, 2), []operand{from("MaxPool_same/in0:0"), from("MaxPool_same:0"), random(2, 4, 4, 3)}, float(2, 7, 8, 3), 0},
		{"AvgPool same", pool("SAME", 3, 2), []operand{x}, float(2, 4, 4, 3), 0},
		{"AvgPoolGrad same", pool("SAME", 3, 2), []operand{xs, random(2, 4, 4, 3)}, float(2, 7, 8, 3), 0},
		{"FusedBatchNormV3 train", norm(true), []operand{x, ones(3), ones(3), none, none},
			normed, 3},
		{"FusedBatchNormV3 eval", norm(false), []operand{x, ones(3), random(3), random(3), ones(3)}, normed, 5},
		{"FusedBatchNormGradV3 train", normGrad(), []operand{random(2, 7, 8, 3), from("FusedBatchNormV3_train/in0:0"), ones(3),
			from("FusedBatchNormV3_train:3"), from("FusedBatchNormV3_train:4"), from("FusedBatchNormV3_train:5")},
			[]graph.Type{image, channel, channel, empty, empty}, 2},
	}
}

func classOps() []opCase {
	labels := given(tensor.Int64, 0, 4, 2, 4)
	both := []graph.Type{typ(tensor.Float32, 4), typ(tensor.Float32, 4, 5)}
	share := operand{dtype: tensor.Float32, shape: []int{4, 5}, values: []float64{.2, .2, .2, .2, .2, 1, 0, 0, 0, 0, 0, .5, .5, 0, 0, .1, .2, .3, .4, 0}}
	ties := operand{dtype: tensor.Float32, shape: []int{2, 4}, values: []float64{1, 3, 3, 2, 5, 5, 5, 5}}
	return []opCase{
		{"SparseSoftmaxCrossEntropyWithLogits", of("Tlabels", tensor.Int64), []operand{random(4, 5), labels}, both, 0},
		{"SoftmaxCrossEntropyWithLogits", f32, []operand{random(4, 5), share}, both, 0},
		{"Softmax", f32, []operand{random(4, 5)}, float(4, 5), 0},
		{"LogSoftmax", f32, []operand{random(4, 5)}, float(4, 5), 0},
		{"ArgMax", of("Tidx", tensor.Int32, "output_type", tensor.Int64), []operand{ties, number(tensor.Int32, 1)}, []graph.Type{typ(tensor.Int64, 2)}, 0},
		{"TopKV2", of("sorted", true), []operand{ties, number(tensor.Int32, 3)}, []graph.Type{typ(tensor.Float32, 2, 3), typ(tensor.Int32, 2, 3)}, 0},
		{"OneHot", of("TI", tensor.Int64, "axis", int64(-1)), []operand{given(tensor.Int64, 1, -1, 3), number(tensor.Int32, 4), number(tensor.Float32, 2), number(tensor.Float32, -1)}, float(3, 4), 0},
	}
}

func mathOps() []opCase {
	var all []opCase
	halves := operand{dtype: tensor.Float32, shape: []int{8}, values: []float64{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7, -3}}
	for _, op := range []string{"Elu", "Selu", "Softplus", "Softsign", "Erf", "Tanh", "Sigmoid", "Expm1", "Relu6", "Rsqrt", "Log1p"} {
		x := random(4, 6)
		if op == "Rsqrt" || op == "Log1p" {
			x = operand{dtype: tensor.Float32, shape: []int{4}, values: []float64{0.5, 1e-3, 4, 1e4}}
		}
		all = append(all, opCase{op, f32, []operand{x}, float(x.shape...), 0})
	}
	for _, op := range []string{"EluGrad", "SeluGrad", "SoftplusGrad", "TanhGrad", "SigmoidGrad", "ReluGrad", "Relu6Grad"} {
		all = append(all, opCase{op, f32, []operand{random(4, 6), random(4, 6)}, float(4, 6), 0})
	}
	divisors := operand{dtype: tensor.Float32, shape: []int{8}, values: []float64{2, -2, 0, 3, -3, 0.7, 0, 2}}
	signed := operand{dtype: tensor.Float32, shape: []int{8}, values: []float64{2, -2, 1.5, 3, -3, 0.7, -1, 2}}
	return append(all,
		opCase{"Round", f32, []operand{halves}, float(8), 0},
		opCase{"FloorMod", f32, []operand{halves, signed}, float(8), 0},
		opCase{"DivNoNan", f32, []operand{halves, divisors}, float(8), 0},
		opCase{"LeakyRelu", of("alpha", float32(0.3)), []operand{random(9)}, float(9), 0},
		opCase{"LeakyReluGrad", of("alpha", float32(0.3)), []operand{random(9), random(9)}, float(9), 0},
		opCase{"L2Loss", f32, []operand{random(3, 4)}, float(), 0},
		opCase{"Mean", of("Tidx", tensor.Int32, "keep_dims", true), []operand{random(3, 4, 5), fixed(tensor.Int32, 0, 2)}, float(1, 4, 1), 0},
		opCase{"MatMul tt", of("transpose_a", true, "transpose_b", true), []operand{random(5, 3), random(4, 5)}, float(3, 4), 0},
		opCase{"BatchMatMulV2", of("adj_x", true, "adj_y", false), []operand{random(2, 5, 3), random(1, 5, 4)}, float(2, 3, 4), 0},
		opCase{"BiasAddGrad", of("data_format", []byte("NHWC")), []operand{random(2, 3, 4)}, float(4), 0},
		opCase{"SquaredDifference", f32, []operand{random(3, 1), random(1, 4)}, float(3, 4), 0},
	)
}

func shapeOps() []opCase {
	ids := given(tensor.Int32, 2, 0, 2, -1, 1)
	strided := of("Index", tensor.Int32, "begin_mask", int64(1), "end_mask", int64(2), "ellipsis_mask", int64(0), "new_axis_mask", int64(0), "shrink_axis_mask", int64(4))
	bounds := []operand{fixed(tensor.Int32, 0, -1, 2), fixed(tensor.Int32, 2, 0, 3), fixed(tensor.Int32, 1, -2, 1)}
	return []opCase{
		{"GatherV2", graph.Attrs{"Tparams": tensor.Float32, "Tindices": tensor.Int32, "Taxis": tensor.Int32, "batch_dims": int64(0)},
			[]operand{random(4, 3), given(tensor.Int32, 3, 0, 3, 1).as(2, 2), number(tensor.Int32, 0)}, float(2, 2, 3), 0},
		{"UnsortedSegmentSum", of("Tindices", tensor.Int32, "Tnumsegments", tensor.Int32), []operand{random(5, 2), ids, number(tensor.Int32, 4)}, float(4, 2), 0},
		{"UnsortedSegmentProd", of("Tindices", tensor.Int32, "Tnumsegments", tensor.Int32), []operand{random(5, 2), ids, number(tensor.Int32, 4)}, float(4, 2), 0},
		{"UnsortedSegmentMax", of("Tindices", tensor.Int32, "Tnumsegments", tensor.Int32), []operand{random(5, 2), ids, number(tensor.Int32, 4)}, float(4, 2), 0},
		{"UnsortedSegmentMin", of("Tindices", tensor.Int32, "Tnumsegments", tensor.Int32), []operand{random(5, 2), ids, number(tensor.Int32, 4)}, float(4, 2), 0},
		{"TensorScatterUpdate", of("Tindices", tensor.Int32), []operand{random(4, 2), given(tensor.Int32, 2, 0, 2).as(3, 1), random(3, 2)}, float(4, 2), 0},
		{"Cholesky", of(), []operand{given(tensor.Float32, 4, 2, 2, 5, 9, -3, -3, 2).as(2, 2, 2)}, float(2, 2, 2), 0},
		{"MatrixInverse", of("adjoint", true), []operand{given(tensor.Float32, 4, 2, 1, 5, 9, -3, -3, 2).as(2, 2, 2)}, float(2, 2, 2), 0},
		{"StridedSlice", strided, append([]operand{random(3, 5, 4)}, bounds...), float(2, 3), 0},
		{"StridedSliceGrad", strided, append(append([]operand{fixed(tensor.Int32, 3, 5, 4)}, bounds...), random(2, 3)), float(3, 5, 4), 0},
		{"PadV2", of("Tpaddings", tensor.Int32), []operand{random(2, 3), fixed(tensor.Int32, 1, 0, 0, 2).as(2, 2), number(tensor.Float32, -1)}, float(3, 5), 0},
		{"Transpose", of("Tperm", tensor.Int32), []operand{random(2, 3, 4), fixed(tensor.Int32, 2, 0, 1)}, float(4, 2, 3), 0},
		{"ConcatV2", of("N", int64(2), "Tidx", tensor.Int32), []operand{random(2, 3), random(2, 1), number(tensor.Int32, 1)}, float(2, 4), 0},
		{"Tile", of("Tmultiples", tensor.Int32), []operand{random(2, 3), fixed(tensor.Int32, 2, 3)}, float(4, 9), 0},
	}
}

// randomOps are stateless: equal keys and counters give TensorFlow's bits.
func randomOps() []opCase {
	var all []opCase
	for _, d := range []tensor.DType{tensor.Float32, tensor.Float64} {
		key, counter := fixed(tensor.Uint64, 81985529216486895), fixed(tensor.Uint64, 7, 1<<40)
		attrs := graph.Attrs{"dtype": d, "Tshape": tensor.Int32}
		in := []operand{fixed(tensor.Int32, 5, 7), key, counter, number(tensor.Int32, 1)}
		all = append(all, opCase{"StatelessRandomUniformV2 " + d.String(), attrs, in, []graph.Type{typ(d, 5, 7)}, 0})
		all = append(all, opCase{"StatelessRandomNormalV2 " + d.String(), attrs, in, []graph.Type{typ(d, 5, 7)}, 0})
		all = append(all, opCase{"StatelessTruncatedNormalV2 " + d.String(), attrs, in, []graph.Type{typ(d, 5, 7)}, 0})
	}
	for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
		in := []operand{fixed(tensor.Int32, 5, 7), fixed(tensor.Uint64, 81985529216486895), fixed(tensor.Uint64, 7, 1<<40), number(tensor.Int32, 1), number(d, -3), number(d, 9)}
		all = append(all, opCase{"StatelessRandomUniformIntV2 " + d.String(), graph.Attrs{"dtype": d, "Tshape": tensor.Int32}, in, []graph.Type{typ(d, 5, 7)}, 0})
	}
	return all
}
