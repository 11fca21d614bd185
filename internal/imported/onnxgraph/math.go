package onnxgraph

import (
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// mathOperators are elementwise operators that are not a single op of TensorFlow with its own entry: see stated.
var mathOperators = operators{
	"Add": binary(ops.AddV2), "BitwiseNot": unary(ops.Invert), "BitwiseAnd": binary(ops.BitwiseAnd), "BitwiseOr": binary(ops.BitwiseOr), "BitwiseXor": binary(ops.BitwiseXor),
	"Xor": binary(ops.NotEqual),

	"PRelu": one(prelu),

	"Div": one(divide), "Pow": one(power), "Mod": one(modulo), "BitShift": one(bitShift), "BitCast": one(bitCast).but("4 bits"), "IsInf": one(isInf), "Clip": one(clip), "Where": one(where),
	"Cast": one(castTo).but("8-bit floats, and to 4 bits"), "CastLike": one(castLike).but("8-bit floats, and to 4 bits"),
	"Max": folded(ops.Maximum), "Min": folded(ops.Minimum), "Sum": folded(ops.AddV2), "Mean": one(meanOf),
	"Identity": one(identity),
}

// stated returns the operators that the definitions of ops name: they have the same inputs and meaning.
func stated() operators {
	all := operators{}
	for _, d := range ops.Defs() {
		if _, has := all[d.Onnx]; d.Onnx == "" || has && d.Name != d.Onnx {
			continue
		}
		switch d.Arity() {
		case 1:
			all[d.Onnx] = unary(d)
		case 2:
			all[d.Onnx] = binary(d)
		}
	}
	return all
}

func unary(d *ops.Def) operator {
	return one(func(x *site) *value { return x.each(d, nil, x.at(0)) })
}

// narrow has types for which some TensorFlow ops have no kernels, and the wider types to compute in, whose results are truncated.
var narrow = map[tensor.DType]tensor.DType{tensor.Int8: tensor.Int32, tensor.Int16: tensor.Int32, tensor.Uint8: tensor.Int32, tensor.Uint16: tensor.Int32, tensor.Uint32: tensor.Int64,
	tensor.Uint64: tensor.Int64}

func binary(d *ops.Def) operator {
	return one(func(x *site) *value { return x.arithmetic(d, x.at(0), x.at(1)) })
}

// arithmetic adds an op of two operands, in a wider type if theirs has no kernel.
func (b *builder) arithmetic(d *ops.Def, u, v *value) *value {
	wide, ok := narrow[u.dtype]
	if !ok || takesType(d, u.dtype) {
		return b.each(d, nil, u, v)
	}
	y := b.each(d, nil, b.cast(u, wide), b.cast(v, wide))
	if y.dtype == wide {
		y = b.cast(y, u.dtype)
	}
	return y
}

// takesType reports whether an op supports an element type.
func takesType(d *ops.Def, t tensor.DType) bool {
	for _, a := range d.Attrs() {
		if a.Name == d.InputAt(0, len(d.Inputs())).TypeAttr && a.Types != nil {
			for _, x := range a.Types {
				if x == t {
					return true
				}
			}
			return false
		}
	}
	return true
}

// folded are operators with any number of inputs.
func folded(d *ops.Def) operator {
	return one(func(x *site) *value {
		y := x.at(0)
		for i := 1; i < len(x.in); i++ {
			y = x.arithmetic(d, y, x.at(i))
		}
		return y
	})
}

func identity(x *site) *value { return x.any(0) }

func meanOf(x *site) *value {
	y := x.at(0)
	for i := 1; i < len(x.in); i++ {
		y = x.each(ops.AddV2, nil, y, x.at(i))
	}
	return x.each(ops.RealDiv, nil, y, x.scalar(y.dtype, float64(len(x.in))))
}

// optional returns an input, or nil if it is absent.
func optional(x *site, i int) *value {
	if !x.has(i) {
		return nil
	}
	return x.at(i)
}

// divide rounds integers toward zero.
func divide(x *site) *value {
	u, v := x.at(0), x.at(1)
	if u.dtype.Float() {
		return x.each(ops.RealDiv, nil, u, v)
	}
	if wide, ok := narrow[u.dtype]; ok && u.dtype != tensor.Uint8 && !takesType(ops.TruncateDiv, u.dtype) {
		return x.cast(x.each(ops.TruncateDiv, nil, x.cast(u, wide), x.cast(v, wide)), u.dtype)
	}
	return x.each(ops.TruncateDiv, nil, u, v)
}

// power takes an exponent of any type.
func power(x *site) *value {
	u, v := x.at(0), x.at(1)
	d := u.dtype
	if e, ok := constantOf(v); ok && e == 2 && d.Float() && v.rank() <= u.rank() {
		return x.each(ops.Square, nil, u)
	}
	if u.dtype == v.dtype && takesType(ops.Pow, d) && d.Float() {
		return x.each(ops.Pow, nil, u, v)
	}
	return x.cast(x.each(ops.Pow, nil, x.cast(u, tensor.Float64), x.cast(v, tensor.Float64)), d)
}

// modulo has the sign of the divisor, or with fmod the sign of the dividend.
func modulo(x *site) *value {
	d := ops.FloorMod
	if x.flag("fmod", false) {
		d = ops.TruncateMod
	}
	u, v := x.at(0), x.at(1)
	if wide, ok := narrow[u.dtype]; ok {
		return x.cast(x.each(d, nil, x.cast(u, wide), x.cast(v, wide)), u.dtype)
	}
	return x.each(d, nil, u, v)
}

// signed has the signed integer types.
var signed = map[tensor.DType]bool{tensor.Int8: true, tensor.Int16: true, tensor.Int32: true, tensor.Int64: true}

// bitShift: a shift by a negative number, or by at least the width, leaves no bits; a sign stays.
func bitShift(x *site) *value {
	u, by := x.at(0), x.at(1)
	bits := x.scalar(by.dtype, float64(8*u.dtype.Size()))
	less := func(v, w *value) *value { return x.arithmetic(ops.Less, v, w) }
	within := less(by, bits)
	if signed[by.dtype] {
		within = x.each(ops.LogicalAnd, nil, within, x.each(ops.LogicalNot, nil, less(by, x.scalar(by.dtype, 0))))
	}
	d, rest := ops.LeftShift, x.scalar(u.dtype, 0)
	if x.str("direction", "") == "RIGHT" {
		if d = ops.RightShift; signed[u.dtype] {
			rest = x.cast(x.times(x.cast(less(u, rest), tensor.Int32), -1), u.dtype)
		}
	}
	return x.each(ops.SelectV2, nil, within, x.each(d, nil, u, by), rest)
}

func isInf(x *site) *value {
	u := x.at(0)
	negative, positive := x.flag("detect_negative", true), x.flag("detect_positive", true)
	inf := x.each(ops.IsInf, nil, u)
	zero := x.scalar(u.dtype, 0)
	switch {
	case negative && positive:
		return inf
	case negative:
		return x.each(ops.LogicalAnd, nil, inf, x.each(ops.Less, nil, u, zero))
	case positive:
		return x.each(ops.LogicalAnd, nil, inf, x.each(ops.Greater, nil, u, zero))
	}
	return x.each(ops.LogicalAnd, nil, inf, constant(tensor.Scalar(false)))
}

// clip has its bounds as attributes before version 11.
func clip(x *site) *value {
	y := x.at(0)
	for i, d := range []*ops.Def{ops.Maximum, ops.Minimum} {
		name := []string{"min", "max"}[i]
		switch {
		case x.version < 11 && x.n.Attrs[name] != nil:
			y = x.arithmetic(d, y, x.scalar(y.dtype, x.float(name, 0)))
		case x.version >= 11 && x.has(i+1):
			y = x.arithmetic(d, y, x.at(i+1))
		}
	}
	return y
}

func where(x *site) *value { return x.each(ops.SelectV2, nil, x.at(0), x.at(1), x.at(2)) }

func castTo(x *site) *value {
	x.attr("saturate")
	return x.converted(x.at(0), x.dtype("to", tensor.Invalid))
}

func castLike(x *site) *value {
	x.attr("saturate")
	if x.at(1).four != tensor.Invalid {
		refuse("to elements of 4 bits")
	}
	return x.converted(x.at(0), x.at(1).dtype)
}

// converted casts between numbers, booleans and strings.
func (x *site) converted(v *value, to tensor.DType) *value {
	switch {
	case to == tensor.Invalid:
		refuse("attribute to is missing")
	case wide[to] != tensor.Invalid:
		refuse("to elements of 4 bits")
	case v.dtype == to:
		return x.wider(v)
	case v.dtype == tensor.String && to != tensor.Bool:
		as := to
		if to != tensor.Float64 && to != tensor.Int32 && to != tensor.Int64 {
			as = tensor.Float32
		}
		return x.cast(x.op(ops.StringToNumber, graph.Attrs{"out_type": as}, v), to)
	case to == tensor.String && !v.dtype.Float():
		return x.op(ops.AsString, nil, v)
	case to == tensor.String:
		return x.written(v)
	case v.dtype == tensor.String:
		refuse("from %v to %v", v.dtype, to)
	}
	return x.cast(v, to)
}

// written writes floats in decimal, as ONNX Runtime does: with 8 digits, for float64 too.
func (x *site) written(v *value) *value {
	if v.dtype != tensor.Float64 {
		v = x.cast(v, tensor.Float32)
	}
	y := x.op(ops.AsString, graph.Attrs{"shortest": true, "precision": int64(8)}, v)
	for _, special := range []struct {
		name string
		hit  *value
	}{
		{"NaN", x.op(ops.IsNan, nil, v)},
		{"INF", x.op(ops.Equal, nil, v, x.scalar(v.dtype, math.Inf(1)))},
		{"-INF", x.op(ops.Equal, nil, v, x.scalar(v.dtype, math.Inf(-1)))},
	} {
		y = x.op(ops.SelectV2, nil, special.hit, x.item(constant(x.texts(special.name)), 0), y)
	}
	return y
}

// prelu broadcasts slopes to the input's shape; before version 7 there is one per channel.
func prelu(x *site) *value {
	u, slope := x.at(0), x.at(1)
	if rank := x.rank(0); x.version < 7 && slope.rank() == 1 && rank > 2 {
		slope = x.reshape(slope, append([]int{-1}, slices.Repeat([]int{1}, rank-2)...)...)
	}
	zero := x.scalar(u.dtype, 0)
	return x.each(ops.SelectV2, nil, x.each(ops.Less, nil, u, zero), x.each(ops.Mul, nil, u, slope), u)
}

// bitCast reinterprets the bits of elements as another type of the same size. A boolean is a byte.
func bitCast(x *site) *value {
	u, to := x.at(0), x.dtype("to", tensor.Invalid)
	if to.Size() != u.dtype.Size() || to.Size() == 0 || u.four != tensor.Invalid || wide[to] != tensor.Invalid {
		refuse("from %v to %v: expected types of numbers of one size", u.dtype, to)
	}
	if u.dtype == tensor.Bool {
		u = x.cast(u, tensor.Uint8)
	}
	if to == tensor.Bool {
		return x.cast(x.op(ops.Bitcast, graph.Attrs{"type": tensor.Uint8}, u), to)
	}
	return x.op(ops.Bitcast, graph.Attrs{"type": to}, u)
}
