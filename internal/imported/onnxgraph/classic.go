package onnxgraph

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// classicOperators are for classic models such as scikit-learn's.
var classicOperators = operators{
	"Scaler": one(scaler), "Normalizer": one(normalizer), "LinearRegressor": one(linearRegressor).but("post_transform PROBIT"),
	"LinearClassifier": as(linearClassifier).but("post_transform PROBIT"), "Binarizer": one(binarizer), "ArrayFeatureExtractor": one(featureExtractor),
	"Imputer": one(imputer), "TreeEnsembleRegressor": one(treeRegressor).but("post_transform PROBIT"), "TreeEnsembleClassifier": as(treeClassifier).but("post_transform PROBIT"),
}

// floats is a float32 constant.
func (b *builder) floats(list []float32, shape ...int) *value {
	t, err := tensor.FromSlice(list, shape...)
	if err != nil {
		refuse("%d numbers for shape %v", len(list), shape)
	}
	return constant(t)
}

// real returns an input as float32, the type of these operators' results.
func (x *site) real(i int) *value { return x.cast(x.at(i), tensor.Float32) }

func scaler(x *site) *value {
	offset, scale := x.floatList("offset"), x.floatList("scale")
	y := x.real(0)
	if len(offset) > 0 {
		y = x.op(ops.Sub, nil, y, x.floats(offset, len(offset)))
	}
	if len(scale) > 0 {
		y = x.op(ops.Mul, nil, y, x.floats(scale, len(scale)))
	}
	return y
}

// normalizer divides rows by their norm; zero rows stay. As in ONNX Runtime, NaN is never the maximum, and L2 divides squares
// and takes the root.
func normalizer(x *site) *value {
	u := x.real(0)
	keep, axis, zero := graph.Attrs{"keep_dims": true}, x.i32(-1), x.scalar(tensor.Float32, 0)
	var norm, y *value
	switch name := x.str("norm", "MAX"); name {
	case "MAX":
		norm = x.op(ops.Max, keep, x.op(ops.SelectV2, nil, x.op(ops.IsNan, nil, u), x.scalar(tensor.Float32, -math.MaxFloat32), u), axis)
		y = x.op(ops.RealDiv, nil, u, norm)
	case "L1":
		norm = x.op(ops.Sum, keep, x.op(ops.Abs, nil, u), axis)
		y = x.op(ops.RealDiv, nil, u, norm)
	case "L2":
		square := x.op(ops.Square, nil, u)
		norm = x.op(ops.Sum, keep, square, axis)
		root := x.op(ops.Sqrt, nil, x.op(ops.RealDiv, nil, square, norm))
		y = x.op(ops.SelectV2, nil, x.op(ops.Less, nil, u, zero), x.op(ops.Neg, nil, root), root)
	default:
		refuse("norm %s", name)
	}
	return x.op(ops.SelectV2, nil, x.op(ops.Equal, nil, norm, zero), u, y)
}

func binarizer(x *site) *value {
	u := x.at(0)
	return x.cast(x.op(ops.Greater, nil, u, x.scalar(u.dtype, x.float("threshold", 0))), u.dtype)
}

// featureExtractor selects columns.
func featureExtractor(x *site) *value {
	u := x.at(0)
	if x.rank(0) == 1 {
		u = x.op(ops.ExpandDims, nil, u, x.i32(0))
	}
	return x.op(ops.GatherV2, nil, u, x.reshape(x.at(1), -1), x.i32(u.rank()-1))
}

// imputer replaces one value, which may be NaN.
func imputer(x *site) *value {
	u := x.at(0)
	floats, ints := x.floatList("imputed_value_floats"), x.intList("imputed_value_int64s", nil)
	old, number := x.float("replaced_value_float", 0), x.int("replaced_value_int64", 0)
	var by *value
	switch {
	case len(floats) > 0:
		by = x.floats(floats, len(floats))
	case len(ints) > 0:
		by, old = constant(x.longs(ints...)), float64(number)
	default:
		refuse("no imputed values")
	}
	hit := x.op(ops.Equal, nil, u, x.scalar(u.dtype, old))
	if math.IsNaN(old) {
		hit = x.op(ops.IsNan, nil, u)
	}
	return x.op(ops.SelectV2, nil, hit, x.cast(by, u.dtype), u)
}

// linearScores returns the scores of a linear model with n outputs: coefficients are [outputs, features].
func (x *site) linearScores(n int) *value {
	weights, bias := x.floatList("coefficients"), x.floatList("intercepts")
	if n < 1 || len(weights) == 0 || len(weights)%n != 0 {
		refuse("%d coefficients for %d outputs", len(weights), n)
	}
	u := x.real(0)
	if x.rank(0) == 1 {
		u = x.op(ops.ExpandDims, nil, u, x.i32(0))
	}
	y := x.product(u, x.transpose(x.floats(weights, n, len(weights)/n), []int{1, 0}))
	if len(bias) > 0 {
		y = x.op(ops.BiasAdd, nil, y, x.floats(bias, len(bias)))
	}
	return y
}

func linearRegressor(x *site) *value {
	n := x.int("targets", 1)
	return x.regressed(x.linearScores(n), n)
}

// regressed does what post_transform says with the numbers of n targets. One alone stays as it is, as in ONNX Runtime.
func (x *site) regressed(y *value, n int) *value {
	if n == 1 && x.str("post_transform", "NONE") != "PROBIT" {
		return y
	}
	return x.transformed(y)
}

// transformed applies post_transform to scores.
func (x *site) transformed(y *value) *value {
	switch name := x.str("post_transform", "NONE"); name {
	case "NONE":
		return y
	case "LOGISTIC":
		return x.op(ops.Sigmoid, nil, y)
	case "SOFTMAX":
		return x.op(ops.Softmax, nil, y)
	case "SOFTMAX_ZERO": // zeros stay, and are left out of the sum
		zero := x.op(ops.Equal, nil, y, x.scalar(y.dtype, 0))
		low := x.op(ops.SelectV2, nil, zero, x.scalar(y.dtype, math.Inf(-1)), y)
		return x.op(ops.SelectV2, nil, zero, y, x.op(ops.Softmax, nil, low))
	default:
		refuse("post_transform %s", name)
		return nil
	}
}

// labels returns the names of classes: a constant vector of integers or strings.
func (x *site) labels() *value {
	ints := x.intList("classlabels_ints", x.intList("classlabels_int64s", nil))
	names := x.strList("classlabels_strings")
	switch {
	case len(ints) > 0:
		return constant(x.longs(ints...))
	case len(names) == 0:
		refuse("no labels of classes")
	}
	return constant(x.texts(names...))
}

// named returns the labels of the classes with the highest scores.
func (x *site) named(labels, scores *value) *value {
	at := x.op(ops.ArgMax, graph.Attrs{"output_type": tensor.Int32}, scores, x.i32(1))
	return x.op(ops.GatherV2, nil, labels, at, x.i32(0))
}

func linearClassifier(x *site) []*value {
	x.attr("multi_class")
	labels := x.labels()
	classes := labels.t.Len()
	n := max(len(x.floatList("intercepts")), 1)
	if n > classes || len(x.floatList("coefficients")) == 0 {
		refuse("%d outputs of %d classes", n, classes)
	}
	y := x.linearScores(n)
	if n == 1 && classes == 2 {
		return []*value{x.above(labels, y, 0), x.bothOf(y)}
	}
	return []*value{x.named(labels, y), x.transformed(y)}
}

// bothOf returns the scores of two classes, given the score of the second. Only LOGISTIC changes it, as in ONNX Runtime 1.32.
func (x *site) bothOf(score *value) *value {
	if x.str("post_transform", "NONE") == "LOGISTIC" {
		score = x.op(ops.Sigmoid, nil, score)
	}
	return x.concat(1, x.op(ops.Sub, nil, x.scalar(score.dtype, 1), score), score)
}

// above returns the second label if a row's only score is above a threshold, else the first.
func (x *site) above(labels, score *value, threshold float64) *value {
	hit := x.op(ops.Greater, nil, x.op(ops.Squeeze, graph.Attrs{"squeeze_dims": []int64{1}}, score), x.scalar(score.dtype, threshold))
	return x.op(ops.SelectV2, nil, hit, x.item(labels, 1), x.item(labels, 0))
}
