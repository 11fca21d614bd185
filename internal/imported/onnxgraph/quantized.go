package onnxgraph

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// quantizedOperators work on integers that represent real numbers.
var quantizedOperators = operators{
	"QuantizeLinear": one(quantizeLinear).but("8-bit floats"), "DequantizeLinear": one(dequantizeLinear).but("8-bit floats"),
	"DynamicQuantizeLinear": as(dynamicQuantize), "QLinearMatMul": ofBytesIn(qlinearMatMul, 0, 2, 3, 5, 7), "MatMulInteger": ofBytesIn(matMulInteger, 0, 1, 2, 3),
	"QLinearConv": ofBytesIn(qlinearConv, 0, 2, 3, 5, 7), "ConvInteger": ofBytesIn(convInteger, 0, 1, 2, 3),
}

// ofBytesIn is an operator on 8-bit integers: see bytesIn.
func ofBytesIn(do func(x *site) *value, inputs ...int) operator {
	return one(func(x *site) *value {
		x.bytesIn(inputs...)
		return do(x)
	})
}

// bytesIn refuses inputs of types other than int8 and uint8, as ONNX Runtime does. Absent inputs are skipped.
func (x *site) bytesIn(inputs ...int) {
	for _, i := range inputs {
		if x.has(i) && !ofBytes(x.at(i)) {
			refuse("input %d of type %v: expected int8 or uint8", i, x.at(i).kind())
		}
	}
}

// limits has the smallest and largest number of integer types.
var limits = map[tensor.DType][2]float64{tensor.Int8: {-128, 127}, tensor.Uint8: {0, 255}, tensor.Int16: {-32768, 32767}, tensor.Uint16: {0, 65535},
	tensor.Int4: {-8, 7}, tensor.Uint4: {0, 15}}

// along reshapes scales or zero points to broadcast along an axis of a tensor: a single number, or a vector.
func (x *site) along(v *value, axis, rank int) *value {
	switch v.rank() {
	case 0:
		return v
	case 1:
		if rank < 0 {
			refuse("the rank is not known")
		}
		shape := slices.Repeat([]int{1}, rank)
		if n := v.dims(); n[0] == 1 {
			return x.reshape(v)
		}
		shape[axisOf(axis, rank)] = -1
		return x.reshape(v, shape...)
	}
	refuse("scales of rank %d (-1: not known)", v.rank())
	return nil
}

// byBlock expands scales or zero points for a tensor: a single number, a vector along an axis, or with blocks one per block along it.
func (x *site) byBlock(v, u *value, axis, block int) *value {
	if block == 0 {
		return x.along(v, axis, u.rank())
	}
	if v.rank() != u.rank() || block < 0 {
		refuse("blocks of %d with scales of rank %d for a tensor of rank %d (-1: not known)", block, v.rank(), u.rank())
	}
	axis = axisOf(axis, u.rank())
	if dims, have := u.dims(), v.dims(); dims[axis] >= 0 && have[axis] >= 0 && have[axis] != (dims[axis]+block-1)/block {
		refuse("%d blocks of %d for %d elements", have[axis], block, dims[axis])
	}
	at := x.op(ops.TruncateDiv, nil, x.op(ops.Range, nil, x.i32(0), x.size(u, axis), x.i32(1)), x.i32(block))
	return x.op(ops.GatherV2, nil, v, at, x.i32(axis))
}

// saturated rounds half to even, adds a zero point, and clamps to the type's limits.
func (x *site) saturated(u, zero *value, to tensor.DType) *value {
	u = x.each(ops.Rint, nil, u)
	if zero != nil {
		u = x.each(ops.AddV2, nil, u, zero)
	}
	bounds, ok := limits[to]
	if !ok {
		refuse("results of type %v", to)
	}
	if d, ok := wide[to]; ok {
		y := *x.cast(x.bounded(u, bounds[0], bounds[1]), d)
		y.four = to
		return x.add(&y)
	}
	return x.cast(x.bounded(u, bounds[0], bounds[1]), to)
}

func quantizeLinear(x *site) *value {
	block := x.int("block_size", 0)
	x.attr("saturate")
	if p := x.dtype("precision", tensor.Float32); p != tensor.Float32 {
		refuse("precision %v", p)
	}
	u, axis := x.at(0), x.int("axis", 1)
	to := x.dtype("output_dtype", tensor.Uint8)
	var zero *value
	if x.has(2) {
		z := x.at(2)
		to = z.kind()
		zero = x.byBlock(x.cast(z, tensor.Float32), u, axis, block)
	}
	scale := x.byBlock(x.cast(x.at(1), tensor.Float32), u, axis, block)
	return x.saturated(x.each(ops.RealDiv, nil, x.cast(u, tensor.Float32), scale), zero, to)
}

func dequantizeLinear(x *site) *value {
	u, scale, zero, axis, block := x.at(0), x.at(1), optional(x, 2), x.int("axis", 1), x.int("block_size", 0)
	y := x.decoded(u, scale, zero, axis, block, x.dtype("output_dtype", scale.dtype))
	if y.dtype != tensor.Float32 || block != 0 || !ofBytes(u) || u.rank() < 1 {
		return y
	}
	known := *y
	known.coded = &coded{u: u, scale: scale, zero: zero, axis: axis}
	return x.add(&known)
}

// decoded returns (u-zero)*scale.
func (x *site) decoded(u, scale, zero *value, axis, block int, to tensor.DType) *value {
	y := x.cast(u, tensor.Float32)
	if zero != nil {
		y = x.each(ops.Sub, nil, y, x.byBlock(x.cast(zero, tensor.Float32), u, axis, block))
	}
	return x.cast(x.each(ops.Mul, nil, y, x.byBlock(x.cast(scale, tensor.Float32), u, axis, block)), to)
}

// less returns a value as floats, minus the zero point in input i.
func (x *site) less(u *value, i, axis int, d tensor.DType) *value {
	y := x.cast(u, d)
	if !x.has(i) {
		return y
	}
	return x.each(ops.Sub, nil, y, x.along(x.cast(x.at(i), d), axis, u.rank()))
}

// dynamicQuantize derives scale and zero point from the range of the values and 0; if all are 0, the scale is 1.
func dynamicQuantize(x *site) []*value { return x.dynamic(x.plain(x.at(0))) }

// dynamic returns the integers, their scale and their zero point.
func (x *site) dynamic(u *value) []*value {
	if u.rank() < 0 {
		refuse("the rank is not known")
	}
	axes := x.ints(without(u.rank())...)
	zero := x.scalar(tensor.Float32, 0)
	low, high := x.op(ops.Minimum, nil, x.op(ops.Min, nil, u, axes), zero), x.op(ops.Maximum, nil, x.op(ops.Max, nil, u, axes), zero)
	scale := x.op(ops.RealDiv, nil, x.op(ops.Sub, nil, high, low), x.scalar(tensor.Float32, 255))
	scale = x.op(ops.SelectV2, nil, x.op(ops.Equal, nil, scale, zero), x.scalar(tensor.Float32, 1), scale)
	point := x.op(ops.Rint, nil, x.bounded(x.op(ops.Sub, nil, zero, x.op(ops.RealDiv, nil, low, scale)), 0, 255))
	return []*value{x.saturated(x.op(ops.RealDiv, nil, u, scale), point, tensor.Uint8), scale, x.cast(point, tensor.Uint8)}
}

// maxExact is how many 8-bit products have a sum that float32 holds exactly; float64 holds all.
const maxExact = 1 << 24 / (255 * 255)

// exact returns the type in which the sum of n integer products is exact.
func exact(n int) tensor.DType {
	if n >= 0 && n <= maxExact {
		return tensor.Float32
	}
	return tensor.Float64
}

// rowsLess subtracts the zero points of a left operand, which may be one per row.
func (x *site) rowsLess(u *value, i int, d tensor.DType) *value {
	if x.has(i) && x.at(i).rank() > 1 {
		return x.op(ops.Sub, nil, x.cast(u, d), x.cast(x.at(i), d))
	}
	return x.less(u, i, max(u.rank()-2, 0), d)
}

func (x *site) columnsLess(u *value, i int, d tensor.DType) *value {
	if x.has(i) && x.at(i).rank() > 1 {
		return x.op(ops.Sub, nil, x.cast(u, d), x.cast(x.at(i), d))
	}
	return x.less(u, i, u.rank()-1, d)
}

// innerSize returns how many products a matrix product sums.
func innerSize(u *value) int {
	dims := u.dims()
	if len(dims) == 0 {
		return -1
	}
	return dims[len(dims)-1]
}

func matMulInteger(x *site) *value {
	a, b := x.at(0), x.at(1)
	if y := x.bytesProduct(a, b, &integerProduct{zeroA: optional(x, 2), zeroB: optional(x, 3), to: tensor.Int32}); y != nil {
		return y
	}
	d := exact(innerSize(a))
	return x.in32(x.product(x.rowsLess(a, 2, d), x.columnsLess(b, 3, d)))
}

// in32 returns sums of integers in 32 bits. Larger ones wrap around, as in ONNX Runtime.
func (x *site) in32(y *value) *value {
	if y.dtype == tensor.Float64 {
		y = x.cast(y, tensor.Int64)
	}
	return x.cast(y, tensor.Int32)
}

// qlinearMatMul has a scale and a zero point for each of a, b and the result.
func qlinearMatMul(x *site) *value {
	a, b := x.at(0), x.at(3)
	if y := x.bytesProduct(a, b, x.quantizedProduct(nil)); y != nil {
		return y
	}
	d := exact(innerSize(a))
	y := x.product(x.rowsLess(a, 2, d), x.columnsLess(b, 5, d))
	scale := func(i, axis int) *value {
		v := x.cast(x.at(i), tensor.Float32)
		if v.rank() > 1 {
			return v
		}
		return x.along(v, axis, y.rank())
	}
	by := x.op(ops.RealDiv, nil, x.op(ops.Mul, nil, scale(1, -2), scale(4, -1)), scale(6, -1))
	return x.saturated(x.op(ops.Mul, nil, x.cast(x.in32(y), tensor.Float32), by), x.along(x.cast(x.at(7), tensor.Float32), -1, y.rank()), x.at(7).dtype)
}

// quantizedProduct returns the inputs of QLinearMatMul and QLinearConv besides their operands: their scales and zero points, and the result's.
func (x *site) quantizedProduct(bias *value) *integerProduct {
	scale := func(i int) *value { return x.cast(x.at(i), tensor.Float32) }
	by := x.op(ops.RealDiv, nil, x.op(ops.Mul, nil, scale(1), scale(4)), scale(6))
	return &integerProduct{zeroA: x.at(2), zeroB: x.at(5), bias: bias, scale: by, zero: x.at(7), to: x.at(7).dtype}
}

// exactConvolution returns the type in which the sums of a convolution are exact. float32 with 3x3 filters may use Winograd's form,
// which rounds, unless each channel has its own filters.
func (x *site) exactConvolution(filter *value) tensor.DType {
	dims := filter.dims()
	if len(dims) < 3 {
		return tensor.Float64
	}
	taps := 1
	for _, d := range dims[1:] {
		taps *= d
	}
	if depthwise := dims[1] == 1 && x.int("group", 1) > 1; !depthwise && slices.Equal(dims[len(dims)-2:], []int{3, 3}) {
		return tensor.Float64
	}
	return exact(taps)
}

func convInteger(x *site) *value {
	if y := x.bytesConvolution(x.at(0), x.at(1), &integerProduct{zeroA: optional(x, 2), zeroB: optional(x, 3), to: tensor.Int32}); y != nil {
		return y
	}
	d := x.exactConvolution(x.at(1))
	return x.in32(x.convolved(x.less(x.at(0), 2, 1, d), x.less(x.at(1), 3, 0, d), nil, nil))
}

func qlinearConv(x *site) *value {
	filter := x.at(3)
	if y := x.bytesConvolution(x.at(0), filter, x.quantizedProduct(optional(x, 8))); y != nil {
		return y
	}
	d := x.exactConvolution(filter)
	y := x.in32(x.convolved(x.less(x.at(0), 2, 1, d), x.less(filter, 5, 0, d), nil, nil))
	rank := y.rank()
	if x.has(8) { // in units of the products' scale
		y = x.each(ops.AddV2, nil, y, x.along(x.at(8), 1, rank))
	}
	y = x.cast(y, tensor.Float32)
	scale := func(i int) *value { return x.along(x.cast(x.at(i), tensor.Float32), 1, rank) }
	by := x.op(ops.RealDiv, nil, x.op(ops.Mul, nil, scale(1), scale(4)), scale(6))
	return x.saturated(x.each(ops.Mul, nil, y, by), scale(7), x.at(7).dtype)
}
