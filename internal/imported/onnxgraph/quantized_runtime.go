package onnxgraph

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// quantizedRuntimeOperators are the operators of ONNX Runtime's quantizer: on integers with scales and zero points.
var quantizedRuntimeOperators = operators{
	"QLinearAdd": ofBytesIn(qlinearAdd, 0, 2, 3, 5, 7), "QLinearMul": ofBytesIn(qlinearMul, 0, 2, 3, 5, 7), "QGemm": ofBytesIn(qgemm, 0, 2, 3, 5, 8), "QLinearConcat": one(qlinearConcat),
	"QLinearLeakyRelu": qlinearUnary(leakyOf), "QLinearSigmoid": qlinearUnary(func(x *site, u *value) *value { return x.each(ops.Sigmoid, nil, u) }),
	"QLinearSoftmax": qlinearUnary(softmaxOf), "QLinearGlobalAveragePool": ofBytesIn(qlinearGlobalPool, 0, 2, 4), "QLinearAveragePool": ofBytesIn(qlinearPool, 0, 2, 4), "QLinearWhere": ofBytesIn(qlinearWhere, 1, 3, 4, 6, 8),
	"MatMulIntegerToFloat": ofBytesIn(matMulIntegerToFloat, 0, 1, 4, 5), "DynamicQuantizeMatMul": ofBytesIn(dynamicQuantizeMatMul, 1, 3), "DynamicQuantizeLSTM": as(dynamicQuantizeLSTM).but("zero points that are not 0"),
}

// dequantized returns input i as real numbers: the next two inputs are its scale and zero point.
func (x *site) dequantized(i int) *value {
	u := x.less(x.at(i), i+2, 0, tensor.Float32)
	return x.each(ops.Mul, nil, u, x.single(i+1))
}

// single returns input i, which has one element, as a float32 scalar.
func (x *site) single(i int) *value {
	return x.cast(x.op(ops.Reshape, nil, x.at(i), x.ints()), tensor.Float32)
}

// quantized quantizes real numbers: input i is the scale, the next one the zero point.
func (x *site) quantized(u *value, i int) *value {
	u = x.each(ops.RealDiv, nil, u, x.single(i))
	if !x.has(i + 1) {
		return x.saturated(u, nil, tensor.Uint8)
	}
	return x.saturated(u, x.single(i+1), x.at(i+1).dtype)
}

// biased adds the zero point in input i to numbers in units of the result's scale, and rounds the sum.
func (x *site) biased(u *value, i int) *value {
	if !x.has(i) {
		return x.saturated(u, nil, tensor.Uint8)
	}
	return x.saturated(x.each(ops.AddV2, nil, u, x.single(i)), nil, x.at(i).dtype)
}

// zeroPoint returns input i, or 0 if it is absent.
func (x *site) zeroPoint(i int) *value {
	if !x.has(i) {
		return x.scalar(tensor.Float32, 0)
	}
	return x.single(i)
}

// qlinearAdd has inputs A, B and the result, each with scale and zero point. It adds in ONNX Runtime's order, on which ties depend.
func qlinearAdd(x *site) *value {
	byA, byB := x.op(ops.RealDiv, nil, x.single(1), x.single(6)), x.op(ops.RealDiv, nil, x.single(4), x.single(6))
	mul := func(a, b *value) *value { return x.each(ops.Mul, nil, a, b) }
	double := func(v *value) *value { return x.cast(v, tensor.Float64) }
	// round the sum and the product once, like the processor's fused instruction
	zeros := x.cast(x.op(ops.AddV2, nil, mul(double(byA), double(x.zeroPoint(2))), double(mul(byB, x.zeroPoint(5)))), tensor.Float32)
	fixed := x.op(ops.Sub, nil, x.zeroPoint(7), zeros)
	y := x.each(ops.AddV2, nil, mul(x.cast(x.at(0), tensor.Float32), byA), fixed)
	y = x.each(ops.AddV2, nil, y, mul(x.cast(x.at(3), tensor.Float32), byB))
	return x.saturated(y, nil, x.at(0).dtype)
}

// qlinearMul has the inputs of qlinearAdd.
func qlinearMul(x *site) *value {
	by := x.op(ops.RealDiv, nil, x.op(ops.Mul, nil, x.single(1), x.single(4)), x.single(6))
	y := x.each(ops.Mul, nil, x.less(x.at(0), 2, 0, tensor.Float32), x.less(x.at(3), 5, 0, tensor.Float32))
	y = x.each(ops.AddV2, nil, x.each(ops.Mul, nil, y, by), x.zeroPoint(7))
	return x.saturated(y, nil, x.at(0).dtype)
}

func qlinearUnary(f func(x *site, u *value) *value) operator {
	return ofBytesIn(func(x *site) *value { return x.quantized(f(x, x.dequantized(0)), 3) }, 0, 2, 4)
}

func leakyOf(x *site, u *value) *value { return x.pieces(u, x.times(u, x.float("alpha", 0.01))) }

// softmaxOf works along one axis; before version 13 it works on all axes from that one on, flattened.
func softmaxOf(x *site, u *value) *value {
	axis, rank := axisOf(x.int("axis", -1), x.rank(0)), x.rank(0)
	if x.int("opset", 0) < 13 && axis != rank-1 {
		refuse("axis %d of version %d", axis, x.int("opset", 0))
	}
	perm := append(without(rank, axis), axis)
	return x.transpose(x.op(ops.Softmax, nil, x.transpose(u, perm)), inverse(perm))
}

// qlinearConcat: the result's scale and zero point come first, then three inputs for each part.
func qlinearConcat(x *site) *value {
	axis, rank := x.int("axis", 0), x.rank(2)
	axis = axisOf(axis, rank)
	x.bytesIn(1)
	var parts []*value
	for i := 2; i+2 < len(x.in); i += 3 {
		x.bytesIn(i, i+2)
		parts = append(parts, x.dequantized(i))
	}
	return x.quantized(x.concat(axis, parts...), 0)
}

func qlinearWhere(x *site) *value {
	return x.quantized(x.op(ops.SelectV2, nil, x.at(0), x.dequantized(1), x.dequantized(4)), 7)
}

// pooledFirst returns input 0 as real numbers with channels first; channels_last says that they are last.
func (x *site) pooledFirst() (u *value, last bool) {
	u = x.dequantized(0)
	if last = x.flag("channels_last", false); last {
		u = x.channelsFirst(x.plain(u))
	}
	return u, last
}

func (x *site) pooledBack(y *value, last bool) *value {
	if last {
		return x.channelsLast(y)
	}
	return y
}

func qlinearGlobalPool(x *site) *value {
	u, last := x.pooledFirst()
	var axes []int
	for i := 2; i < u.rank(); i++ {
		axes = append(axes, i)
	}
	y := x.op(ops.Mean, graph.Attrs{"keep_dims": true}, u, x.ints(axes...))
	return x.quantized(x.pooledBack(y, last), 3)
}

func qlinearPool(x *site) *value {
	u, last := x.pooledFirst()
	here := *x
	here.in = append([]*value{u}, x.in[1:]...)
	return x.biased(x.each(ops.RealDiv, nil, x.pooledBack(averagePool(&here), last), x.single(3)), 4)
}

// qgemm has inputs A, B, each with scale and zero point, C, and the result's scale and zero point; without these the result is float.
func qgemm(x *site) *value {
	a, b := x.at(0), x.at(3)
	if x.flag("transA", false) {
		a = x.transpose(a, []int{1, 0})
	}
	if x.flag("transB", false) {
		b = x.transpose(b, []int{1, 0})
	}
	scale := x.times(x.op(ops.Mul, nil, x.single(1), x.cast(x.at(4), tensor.Float32)), x.float("alpha", 1))
	p := &integerProduct{zeroA: optional(x, 2), zeroB: optional(x, 5), bias: optional(x, 6), scale: scale, to: tensor.Float32}
	if x.has(7) {
		if p.scale, p.to = x.op(ops.RealDiv, nil, scale, x.single(7)), tensor.Uint8; x.has(8) {
			p.zero, p.to = x.at(8), x.at(8).dtype
		}
	}
	if y := x.bytesProduct(a, b, p); y != nil {
		return y
	}
	here := *x
	here.in = append([]*value{}, x.in...)
	here.in[0], here.in[3] = a, b
	y := x.cast(x.product(here.less(a, 2, 0, tensor.Float64), here.columnsLess(b, 5, tensor.Float64)), tensor.Float32)
	if x.has(6) { // in units of the products' scale
		y = x.op(ops.AddV2, nil, y, x.cast(x.at(6), tensor.Float32))
	}
	scale = x.along(scale, -1, 2)
	y = x.op(ops.Mul, nil, y, scale)
	if !x.has(7) {
		return y
	}
	return x.quantized(y, 7)
}

// matMulIntegerToFloat has inputs A, B, their scales, their zero points, and a bias.
func matMulIntegerToFloat(x *site) *value {
	a, b := x.at(0), x.at(1)
	scale := x.op(ops.Mul, nil, x.cast(x.at(2), tensor.Float32), x.cast(x.at(3), tensor.Float32))
	if y := x.bytesProduct(a, b, &integerProduct{zeroA: optional(x, 4), zeroB: optional(x, 5), scale: scale, add: optional(x, 6), to: tensor.Float32}); y != nil {
		return y
	}
	y := x.product(x.rowsLess(a, 4, tensor.Float64), x.columnsLess(b, 5, tensor.Float64))
	return x.scaled(y, scale, 6)
}

// scaled returns sums of integer products as floats, plus input i if it is present.
func (x *site) scaled(y, by *value, i int) *value {
	y = x.op(ops.Mul, nil, x.cast(y, tensor.Float32), by)
	if x.has(i) {
		y = x.op(ops.AddV2, nil, y, x.at(i))
	}
	return y
}

// dynamicQuantizeMatMul has inputs A, which is float, B, its scale and zero point, and a bias.
func dynamicQuantizeMatMul(x *site) *value {
	q := x.dynamic(x.plain(x.at(0)))
	scale := x.op(ops.Mul, nil, q[1], x.cast(x.at(2), tensor.Float32))
	if y := x.bytesProduct(q[0], x.at(1), &integerProduct{zeroA: q[2], zeroB: optional(x, 3), scale: scale, add: optional(x, 4), to: tensor.Float32}); y != nil {
		return y
	}
	a := x.op(ops.Sub, nil, x.cast(q[0], tensor.Float64), x.cast(q[2], tensor.Float64))
	y := x.product(a, x.columnsLess(x.at(1), 3, tensor.Float64))
	return x.scaled(y, scale, 4)
}

// dynamicQuantizeLSTM has 8-bit weights [directions, inputs, 4*hidden]. Their other operands, including the state, are quantized at
// each step: the layer is a float layer with integer products.
func dynamicQuantizeLSTM(x *site) []*value {
	x.bytesIn(1, 2, 9, 11)
	weights := func(i, scale int) *value {
		if x.has(scale + 1) {
			for _, z := range x.knownInts(scale + 1) {
				if z != 0 {
					refuse("a zero point of %d", z)
				}
			}
		}
		by := x.cast(x.at(scale), tensor.Float32)
		switch by.rank() {
		case 1:
			by = x.reshape(by, -1, 1, 1)
		case 2:
			by = x.op(ops.ExpandDims, nil, by, x.i32(1))
		default:
			refuse("scales of rank %d", by.rank())
		}
		return x.transpose(x.op(ops.Mul, nil, x.cast(x.at(i), tensor.Float32), by), []int{0, 2, 1})
	}
	w, r := weights(1, 8), weights(2, 10)
	here := *x
	here.in = append([]*value{x.at(0), w, r}, x.in[3:min(len(x.in), 8)]...)
	return recurrent(func(x *site) cell {
		c := lstmCell(x)
		c.seen = func(x *site, u *value) *value {
			q := x.dynamic(u)
			return x.op(ops.Mul, nil, x.op(ops.Sub, nil, x.cast(q[0], tensor.Float32), x.cast(q[2], tensor.Float32)), q[1])
		}
		return c
	})(&here)
}
