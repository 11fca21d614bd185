package stablehlograph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// unary is an op with one operand.
func unary(d *ops.Def) operation {
	return each(func(x *site) *value { return x.each(d, nil, x.at(0)) })
}

// arithmetic is an op with two operands.
func arithmetic(d *ops.Def) func(x *site) *value {
	return func(x *site) *value { return x.each(d, nil, x.at(0), x.at(1)) }
}

// logical is an op with two operands, and another op for bools.
func logical(bools, others *ops.Def) func(x *site) *value {
	return func(x *site) *value {
		if x.at(0).dtype == tensor.Bool {
			return x.each(bools, nil, x.at(0), x.at(1))
		}
		return x.each(others, nil, x.at(0), x.at(1))
	}
}

func absolute(x *site) *value {
	switch v := x.at(0); {
	case isComplex(v.dtype):
		return x.each(ops.ComplexAbs, graph.Attrs{"Tout": x.result(0).DType}, v)
	case unsigned(v.dtype):
		return v
	default:
		return x.each(ops.Abs, nil, v)
	}
}

func isFinite(x *site) *value {
	v := x.at(0)
	if v.dtype == tensor.BFloat16 || v.dtype == tensor.Float16 {
		v = x.cast(v, tensor.Float32)
	}
	return x.each(ops.IsFinite, nil, v)
}

func negative(x *site) *value {
	v := x.at(0)
	if isInteger(v.dtype) {
		return x.each(ops.Sub, nil, scalar(v.dtype, 0), v)
	}
	return x.each(ops.Neg, nil, v)
}

// sign is NaN for NaN.
func sign(x *site) *value {
	v := x.at(0)
	if unsigned(v.dtype) {
		return x.cast(x.each(ops.NotEqual, nil, v, scalar(v.dtype, 0)), v.dtype)
	}
	y := x.each(ops.Sign, nil, v)
	if v.dtype.Float() {
		y = x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, v, v), y, v)
	}
	return y
}

// roundAway rounds halves away from zero.
func roundAway(x *site) *value {
	v := x.at(0)
	size := x.each(ops.Abs, nil, v)
	low := x.each(ops.Floor, nil, size)
	half := x.each(ops.GreaterEqual, nil, x.each(ops.Sub, nil, size, low), scalar(v.dtype, 0.5))
	up := x.each(ops.AddV2, nil, low, x.cast(half, v.dtype))
	y := x.each(ops.Mul, nil, x.each(ops.Sign, nil, v), up)
	whole := x.each(ops.Equal, nil, low, size) // including infinities
	return x.each(ops.SelectV2, nil, whole, v, y)
}

func cubeRoot(x *site) *value {
	v := x.at(0)
	root := x.each(ops.Pow, nil, x.each(ops.Abs, nil, v), scalar(v.dtype, 1.0/3))
	y := x.each(ops.SelectV2, nil, x.each(ops.Less, nil, v, scalar(v.dtype, 0)), x.each(ops.Neg, nil, root), root)
	return x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, v, scalar(v.dtype, 0)), v, y) // including -0
}

func realPart(x *site) *value {
	if v := x.at(0); isComplex(v.dtype) {
		return x.each(ops.Real, graph.Attrs{"Tout": x.result(0).DType}, v)
	}
	return x.at(0)
}

func imaginaryPart(x *site) *value {
	if v := x.at(0); isComplex(v.dtype) {
		return x.each(ops.Imag, graph.Attrs{"Tout": x.result(0).DType}, v)
	}
	return x.each(ops.Mul, nil, x.at(0), scalar(x.at(0).dtype, 0))
}

func complexOf(x *site) *value {
	return x.each(ops.Complex, graph.Attrs{"Tout": x.result(0).DType}, x.at(0), x.at(1))
}

func not(x *site) *value {
	if x.at(0).dtype == tensor.Bool {
		return x.each(ops.LogicalNot, nil, x.at(0))
	}
	return x.each(ops.Invert, nil, x.at(0))
}

// ones counts the bits that are set.
func ones(x *site) *value {
	return x.cast(x.each(ops.PopulationCount, nil, x.at(0)), x.at(0).dtype)
}

// leadingZeros sets all bits below the highest set one, and counts the others.
func leadingZeros(x *site) *value {
	v := x.unsigned(x.at(0))
	n := 8 * v.dtype.Size()
	for shift := 1; shift < n; shift *= 2 {
		v = x.each(ops.BitwiseOr, nil, v, x.each(ops.RightShift, nil, v, scalar(v.dtype, float64(shift))))
	}
	set := x.cast(x.each(ops.PopulationCount, nil, v), x.at(0).dtype)
	return x.each(ops.Sub, nil, scalar(set.dtype, float64(n)), set)
}

// unsigned reinterprets the bits of integers as unsigned ones.
func (x *site) unsigned(v *value) *value { return x.bits(v, integers[v.dtype.Size()][1]) }

// bits reinterprets the bits of elements as a type of the same size.
func (x *site) bits(v *value, to tensor.DType) *value {
	if v.dtype == to {
		return v
	}
	return x.each(ops.Bitcast, graph.Attrs{"type": to}, v)
}

// divide truncates integer quotients. A quotient by 0 is -1, all bits set, as in XLA.
func divide(x *site) *value {
	a, b := x.at(0), x.at(1)
	if !isInteger(a.dtype) {
		return x.each(ops.RealDiv, nil, a, b)
	}
	safe, zero := x.divisor(b)
	y := x.each(ops.TruncateDiv, nil, a, safe)
	if zero == nil {
		return y
	}
	minus := x.each(ops.Invert, nil, scalar(a.dtype, 0))
	return x.each(ops.SelectV2, nil, zero, minus, y)
}

// remainder has the sign of the dividend. The remainder by integer 0 is the dividend.
func remainder(x *site) *value {
	a, b := x.at(0), x.at(1)
	if !isInteger(a.dtype) {
		return x.each(ops.TruncateMod, nil, a, b)
	}
	safe, zero := x.divisor(b)
	var y *value
	if a.dtype == tensor.Uint64 {
		y = x.each(ops.Sub, nil, a, x.each(ops.Mul, nil, x.each(ops.TruncateDiv, nil, a, safe), safe))
	} else {
		y = x.each(ops.TruncateMod, nil, a, safe)
	}
	if zero == nil {
		return y
	}
	return x.each(ops.SelectV2, nil, zero, a, y)
}

// divisor returns a divisor without zeros, and where it had zeros; nil if it had none.
func (x *site) divisor(b *value) (safe, zero *value) {
	if t := b.small().t; t != nil && t.Len() == 1 && t.Int(0) != 0 {
		return b, nil
	}
	zero = x.each(ops.Equal, nil, b, scalar(b.dtype, 0))
	return x.each(ops.SelectV2, nil, zero, scalar(b.dtype, 1), b), zero
}

// power: for integers with negative exponents it is 0, except for bases 1 and -1.
func power(x *site) *value {
	a, b := x.at(0), x.at(1)
	if !isInteger(a.dtype) {
		return x.each(ops.Pow, nil, a, b)
	}
	if unsigned(a.dtype) {
		return x.each(ops.Pow, nil, a, b)
	}
	zero := scalar(b.dtype, 0)
	below := x.each(ops.Less, nil, b, zero)
	y := x.each(ops.Pow, nil, a, x.each(ops.Maximum, nil, b, zero))
	odd := x.each(ops.BitwiseAnd, nil, b, scalar(b.dtype, 1))
	unit := x.each(ops.Equal, nil, x.each(ops.Abs, nil, a), scalar(a.dtype, 1))
	sign := x.each(ops.SelectV2, nil, x.each(ops.Equal, nil, odd, zero), scalar(a.dtype, 1), a)
	return x.each(ops.SelectV2, nil, below, x.each(ops.SelectV2, nil, unit, sign, scalar(a.dtype, 0)), y)
}

func shiftLeft(x *site) *value {
	return x.shifted(ops.LeftShift, x.at(0), x.at(1), scalar(x.at(0).dtype, 0))
}

// shiftLogical fills with zeros, even for signed integers.
func shiftLogical(x *site) *value {
	v := x.unsigned(x.at(0))
	return x.bits(x.shifted(ops.RightShift, v, x.unsigned(x.at(1)), scalar(v.dtype, 0)), x.at(0).dtype)
}

// shiftArithmetic fills with the highest bit, even for unsigned integers.
func shiftArithmetic(x *site) *value {
	signed := integers[x.at(0).dtype.Size()][0]
	v, by := x.bits(x.at(0), signed), x.bits(x.at(1), signed)
	far := x.each(ops.RightShift, nil, v, scalar(signed, float64(8*signed.Size()-1)))
	return x.bits(x.shifted(ops.RightShift, v, by, far), x.at(0).dtype)
}

// shifted shifts, and returns far where the distance is at least the number of bits.
func (x *site) shifted(d *ops.Def, v, by, far *value) *value {
	n := float64(8 * v.dtype.Size())
	y := x.each(d, nil, v, by)
	if t := by.small().t; t != nil && t.Len() == 1 && t.Float(0) >= 0 && t.Float(0) < n {
		return y
	}
	distance := x.unsigned(by)
	return x.each(ops.SelectV2, nil, x.each(ops.Less, nil, distance, scalar(distance.dtype, n)), y, far)
}

// comparisons has the ops by direction.
var comparisons = map[string]*ops.Def{"EQ": ops.Equal, "NE": ops.NotEqual, "GE": ops.GreaterEqual, "GT": ops.Greater, "LE": ops.LessEqual, "LT": ops.Less}

func compare(x *site) *value {
	a, b := x.at(0), x.at(1)
	d := comparisons[x.enum("comparison_direction")]
	if d == nil {
		refuse("comparison_direction %q", x.enum("comparison_direction"))
	}
	switch {
	case x.enum("compare_type") == "TOTALORDER" && a.dtype.Float():
		a, b = x.ordered(a), x.ordered(b)
	case a.dtype == tensor.Bool && d != ops.Equal && d != ops.NotEqual:
		a, b = x.cast(a, tensor.Int32), x.cast(b, tensor.Int32)
	}
	return x.each(d, nil, a, b)
}

func choose(x *site) *value { return x.each(ops.SelectV2, nil, x.at(0), x.at(1), x.at(2)) }

// clamp has operands minimum, operand and maximum.
func clamp(x *site) *value {
	least := x.each(ops.Maximum, nil, x.at(0), x.at(1))
	return x.each(ops.Minimum, nil, least, x.at(2))
}

// convert: floats outside the range of integers are clamped, NaN becomes 0.
func convert(x *site) *value {
	v, to := x.at(0), x.result(0).DType
	switch {
	case to == tensor.Bool && v.dtype != tensor.Bool:
		return x.each(ops.NotEqual, nil, v, scalar(v.dtype, 0))
	case isComplex(v.dtype) && !isComplex(to):
		refuse("complex numbers to %v", to)
	case v.dtype.Float() && isInteger(to):
		return x.saturated(v, to)
	}
	return x.cast(v, to)
}

func (x *site) saturated(v *value, to tensor.DType) *value {
	if v.dtype.Half() {
		v = x.cast(v, tensor.Float32)
	}
	least, most := integerRange(to)
	number := x.each(ops.SelectV2, nil, x.each(ops.IsNan, nil, v), scalar(v.dtype, 0), v)
	above := x.each(ops.GreaterEqual, nil, v, scalar(v.dtype, most+1))
	below := x.each(ops.LessEqual, nil, v, scalar(v.dtype, least))
	outside := x.each(ops.LogicalOr, nil, above, below)
	y := x.cast(x.each(ops.SelectV2, nil, outside, scalar(v.dtype, 0), number), to)
	y = x.each(ops.SelectV2, nil, above, limit(to, true), y)
	return x.each(ops.SelectV2, nil, below, limit(to, false), y)
}

// limit returns the largest or smallest number of an integer type.
func limit(d tensor.DType, largest bool) *value {
	all := ^uint64(0)
	switch {
	case unsigned(d) && !largest:
		all = 0
	case !unsigned(d) && largest:
		all = 1<<(8*d.Size()-1) - 1
	case !unsigned(d):
		all = 1 << (8*d.Size() - 1)
	}
	return bits(tensor.New(d), all)
}

// bitcast may add or remove a dimension, which has the bytes of one element.
func bitcast(x *site) *value {
	v, to := x.at(0), x.result(0)
	if v.dtype == tensor.Bool || to.DType == tensor.Bool {
		refuse("bits of bools")
	}
	if v.dtype == to.DType {
		return v
	}
	if v.dtype.Size() == to.DType.Size() {
		return x.bits(v, to.DType)
	}
	return x.node(ops.Bitcast, to.Dims, graph.Attrs{"type": to.DType}, v)
}

// reducePrecision rounds to another float type and back. Numbers that are subnormal with fewer exponent bits become 0.
func reducePrecision(x *site) *value {
	v, e, m := x.at(0), x.int("exponent_bits"), x.int("mantissa_bits")
	to, ok := floats[[2]int{e, m}]
	if !ok {
		refuse("%d bits of exponent and %d of mantissa", e, m)
	}
	y := x.cast(x.cast(v, to), v.dtype)
	if exponentBits(v.dtype) <= e {
		return y
	}
	least := scalar(v.dtype, math.Ldexp(1, 2-1<<(e-1)))
	return x.each(ops.SelectV2, nil, x.each(ops.Less, nil, x.each(ops.Abs, nil, y), least), x.each(ops.Mul, nil, y, scalar(v.dtype, 0)), y)
}

// ordered maps floats to integers of the same order: -NaN, -Inf, ..., -0, 0, ..., Inf, NaN.
func (x *site) ordered(v *value) *value {
	return x.mirrored(x.bits(v, integers[v.dtype.Size()][0]))
}

// mirrored reverses the order of negative integers.
func (x *site) mirrored(v *value) *value {
	return x.each(ops.SelectV2, nil, x.each(ops.Less, nil, v, scalar(v.dtype, 0)), x.each(ops.BitwiseXor, nil, v, limit(v.dtype, true)), v)
}

// mapped computes a scalar region for all elements.
func mapped(x *site) []*value {
	return x.apply(x.region(0), x.in...)
}
