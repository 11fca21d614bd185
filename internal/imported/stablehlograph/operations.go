package stablehlograph

import (
	"maps"
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/ops"
)

// operation says how an operation of StableHLO is translated.
type operation struct {
	do   func(x *site) []*value
	each bool // elementwise: in a scalar region it is computed for all elements at once
}

// one is the translation of an operation with one result.
func one(do func(x *site) *value) operation {
	return operation{do: func(x *site) []*value { return []*value{do(x)} }}
}

// each is the translation of an elementwise operation.
func each(do func(x *site) *value) operation {
	o := one(do)
	o.each = true
	return o
}

// operations has the translated operations, by name. All versions of an operation mean the same: later ones have more attributes.
var operations map[string]operation

func init() { // functions in the table refer to the table
	operations = map[string]operation{
		"abs": each(absolute), "ceil": unary(ops.Ceil), "cosine": unary(ops.Cos), "exponential": unary(ops.Exp), "exponential_minus_one": unary(ops.Expm1),
		"floor": unary(ops.Floor), "is_finite": each(isFinite), "log": unary(ops.Log), "log_plus_one": unary(ops.Log1p), "logistic": unary(ops.Sigmoid),
		"negate": each(negative), "round_nearest_even": unary(ops.Rint), "round_nearest_afz": each(roundAway), "rsqrt": unary(ops.Rsqrt), "sign": each(sign),
		"sine": unary(ops.Sin), "sqrt": unary(ops.Sqrt), "tan": unary(ops.Tan), "tanh": unary(ops.Tanh), "cbrt": each(cubeRoot), "real": each(realPart),
		"imag": each(imaginaryPart), "not": each(not), "popcnt": each(ones), "count_leading_zeros": each(leadingZeros), "convert": each(convert),
		"bitcast_convert": one(bitcast), "reduce_precision": each(reducePrecision),

		"add": each(logical(ops.LogicalOr, ops.AddV2)), "subtract": each(arithmetic(ops.Sub)), "multiply": each(logical(ops.LogicalAnd, ops.Mul)), "divide": each(divide), "remainder": each(remainder),
		"maximum": each(logical(ops.LogicalOr, ops.Maximum)), "minimum": each(logical(ops.LogicalAnd, ops.Minimum)), "power": each(power), "atan2": each(arithmetic(ops.Atan2)),
		"and": each(logical(ops.LogicalAnd, ops.BitwiseAnd)), "or": each(logical(ops.LogicalOr, ops.BitwiseOr)), "xor": each(logical(ops.NotEqual, ops.BitwiseXor)),
		"shift_left": each(shiftLeft), "shift_right_logical": each(shiftLogical), "shift_right_arithmetic": each(shiftArithmetic),
		"complex": each(complexOf), "compare": each(compare), "select": each(choose), "clamp": each(clamp), "map": {do: mapped},

		"constant": each(constantOperation), "iota": one(iota), "dynamic_iota": one(dynamicIota),
		"broadcast_in_dim": one(broadcastInDim), "dynamic_broadcast_in_dim": one(broadcastInDim), "broadcast": one(broadcast),
		"reshape": one(reshape), "dynamic_reshape": one(dynamicReshape), "transpose": one(transpose), "concatenate": one(concatenate), "reverse": one(reverse),
		"slice": one(slice), "real_dynamic_slice": one(realDynamicSlice), "dynamic_slice": one(dynamicSlice), "dynamic_update_slice": one(dynamicUpdateSlice),
		"pad": one(pad), "dynamic_pad": one(dynamicPad), "get_dimension_size": one(dimensionSize),

		"rng_bit_generator": {do: rngBitGenerator}, "select_and_scatter": one(selectAndScatter),

		"dot_general": one(dotGeneral), "dot": one(dot), "convolution": one(convolution), "dynamic_conv": one(dynamicConvolution), "einsum": one(einsum),
		"batch_norm_inference": one(batchNormInference), "cholesky": one(cholesky), "triangular_solve": one(triangularSolve), "fft": one(fft),

		"reduce": {do: reduce}, "reduce_window": {do: reduceWindow}, "sort": {do: sortOperation},
		"gather": one(gather), "dynamic_gather": one(gather), "scatter": {do: scatter}, "torch_index_select": one(indexSelect),

		"call": {do: callFunction, each: true}, "composite": {do: composite}, "while": {do: while}, "if": {do: branches}, "case": {do: branches},
		"custom_call": {do: customCall}, "optimization_barrier": {do: passOn}, "create_token": {do: token}, "after_all": {do: token},
	}
}

// Operations returns the sorted names of the StableHLO operations that are translated.
func Operations() []string { return slices.Sorted(maps.Keys(operations)) }
