package ops_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/models/ops"
	"github.com/goestimator/goestimator/tensor"
	G "gorgonia.org/gorgonia"
)

// cases are all cases of the contract test.
func cases() []opCase {
	return slices.Concat(unaryCases(), binaryCases(), compareCases(), reduceCases(), shapeCases(), linearCases(), lossCases(), imageCases(), indexCases(), raggedCases(),
		einsumCases(), windowCases(), arrayCases(), statisticsCases(), attentionCases(), segmentCases(), matrixCases(), scatterCases(), randomCases(), borderCases())
}

type unaryOp = func(c models.Context, x *G.Node) *G.Node
type binaryOp = func(c models.Context, x, y *G.Node) *G.Node

func first(f unaryOp) func(c models.Context, in []*G.Node) *G.Node {
	return func(c models.Context, in []*G.Node) *G.Node { return f(c, in[0]) }
}

func second(f binaryOp) func(c models.Context, in []*G.Node) *G.Node {
	return func(c models.Context, in []*G.Node) *G.Node { return f(c, in[0], in[1]) }
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func elu(scale, alpha float64) func(x float64) float64 {
	return func(x float64) float64 {
		if x > 0 {
			return scale * x
		}
		return scale * alpha * (math.Exp(x) - 1)
	}
}

func unaryCases() []opCase {
	const all, positive = -2.0, 0.1
	list := []struct {
		fn     string
		op     unaryOp
		lo, hi float64
		ref    func(x float64) float64
	}{
		{"Neg", ops.Neg, all, 2, func(x float64) float64 { return -x }},
		{"Abs", ops.Abs, all, 2, math.Abs},
		{"Sign", ops.Sign, all, 2, func(x float64) float64 { return math.Copysign(1, x) }},
		{"Square", ops.Square, all, 2, func(x float64) float64 { return x * x }},
		{"Sqrt", ops.Sqrt, positive, 4, math.Sqrt},
		{"Rsqrt", ops.Rsqrt, positive, 4, func(x float64) float64 { return 1 / math.Sqrt(x) }},
		{"Reciprocal", ops.Reciprocal, positive, 4, func(x float64) float64 { return 1 / x }},
		{"Exp", ops.Exp, all, 2, math.Exp},
		{"Expm1", ops.Expm1, all, 2, math.Expm1},
		{"Log", ops.Log, positive, 4, math.Log},
		{"Log1p", ops.Log1p, -0.9, 4, math.Log1p},
		{"Sin", ops.Sin, all, 2, math.Sin},
		{"Cos", ops.Cos, all, 2, math.Cos},
		{"Erf", ops.Erf, all, 2, math.Erf},
		{"Erfc", ops.Erfc, all, 2, math.Erfc},
		{"Tan", ops.Tan, -1.2, 1.2, math.Tan},
		{"Asin", ops.Asin, -0.8, 0.8, math.Asin},
		{"Acos", ops.Acos, -0.8, 0.8, math.Acos},
		{"Sinh", ops.Sinh, all, 2, math.Sinh},
		{"Cosh", ops.Cosh, all, 2, math.Cosh},
		{"Asinh", ops.Asinh, all, 2, math.Asinh},
		{"Acosh", ops.Acosh, 1.2, 4, math.Acosh},
		{"Atan", ops.Atan, all, 2, math.Atan},
		{"Atanh", ops.Atanh, -0.8, 0.8, math.Atanh},
		{"Floor", ops.Floor, all, 2, math.Floor},
		{"Round", ops.Round, all, 2, math.RoundToEven},
		{"Tanh", ops.Tanh, all, 2, math.Tanh},
		{"Sigmoid", ops.Sigmoid, all, 2, sigmoid},
		{"Relu", ops.Relu, all, 2, func(x float64) float64 { return max(x, 0) }},
		{"Relu6", ops.Relu6, -3, 9, func(x float64) float64 { return min(max(x, 0), 6) }},
		{"Elu", ops.Elu, all, 2, elu(1, 1)},
		{"Selu", ops.Selu, all, 2, elu(1.0507009873554805, 1.6732632423543772)},
		{"Softplus", ops.Softplus, all, 2, func(x float64) float64 { return math.Log1p(math.Exp(x)) }},
		{"Softsign", ops.Softsign, all, 2, func(x float64) float64 { return x / (1 + math.Abs(x)) }},
		{"Swish", ops.Swish, all, 2, func(x float64) float64 { return x * sigmoid(x) }},
		{"Gelu", ops.Gelu, all, 2, func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) }},
		{"GeluTanh", ops.GeluTanh, all, 2, func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		}},
		{"Mish", ops.Mish, all, 2, func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }},
		{"HardSwish", ops.HardSwish, -4, 4, func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 }},
		{"HardSigmoid", ops.HardSigmoid, -4, 4, func(x float64) float64 { return min(max(0.2*x+0.5, 0), 1) }},
		{"LeakyRelu", func(c models.Context, x *G.Node) *G.Node { return ops.LeakyRelu(c, x, 0.25) }, all, 2,
			func(x float64) float64 { return max(x, 0.25*x) }},
		{"ClipByValue", func(c models.Context, x *G.Node) *G.Node { return ops.ClipByValue(c, x, -0.7, 1.1) }, all, 2,
			func(x float64) float64 { return min(max(x, -0.7), 1.1) }},
		{"Identity", ops.Identity, all, 2, func(x float64) float64 { return x }},
		{"OnesLike", ops.OnesLike, all, 2, func(float64) float64 { return 1 }},
		{"ZerosLike", ops.ZerosLike, all, 2, func(float64) float64 { return 0 }},
	}
	var out []opCase
	for _, u := range list {
		noGrad := u.fn == "OnesLike" || u.fn == "ZerosLike"
		out = append(out, opCase{fn: u.fn, in: []operand{batch(7).in(u.lo, u.hi)}, build: first(u.op), ref: mapped(u.ref), noGrad: noGrad, tolerance: 1e-4})
	}
	return append(out,
		opCase{fn: "Relu", detail: "scalar", in: []operand{param()}, build: first(ops.Relu), ref: mapped(func(x float64) float64 { return max(x, 0) })},
		// x·stop(x): only the first factor has a gradient.
		opCase{fn: "StopGradient", in: []operand{batch(4), batch(4).constant()}, ref: zipped(func(x, y float64) float64 { return x * y }),
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Mul(c, in[0], ops.StopGradient(c, in[1])) }},
		opCase{fn: "Scalar Constant", in: []operand{batch(2)}, ref: mapped(func(x float64) float64 { return x*1.5 - 1 }),
			build: func(c models.Context, in []*G.Node) *G.Node {
				d := models.GraphType(in[0].Dtype())
				ops.Scalar(c, d, 9) // not used
				one := tensor.New(d, 1, 1)
				if d == tensor.Float32 {
					tensor.Values[float32](one)[0] = 1
				} else {
					tensor.Values[float64](one)[0] = 1
				}
				return ops.Sub(c, ops.Mul(c, in[0], ops.Scalar(c, d, 1.5)), ops.Constant(c, one))
			}})
}

func binaryCases() []opCase {
	list := []struct {
		fn  string
		op  binaryOp
		lo  float64
		ref func(x, y float64) float64
	}{
		{"Add", ops.Add, -2, func(x, y float64) float64 { return x + y }},
		{"Sub", ops.Sub, -2, func(x, y float64) float64 { return x - y }},
		{"Mul", ops.Mul, -2, func(x, y float64) float64 { return x * y }},
		{"Div", ops.Div, 0.5, func(x, y float64) float64 { return x / y }},
		{"DivNoNan", ops.DivNoNan, 0.5, func(x, y float64) float64 { return x / y }},
		{"Maximum", ops.Maximum, -2, func(x, y float64) float64 { return max(x, y) }},
		{"Minimum", ops.Minimum, -2, func(x, y float64) float64 { return min(x, y) }},
		{"SquaredDifference", ops.SquaredDifference, -2, func(x, y float64) float64 { return (x - y) * (x - y) }},
		{"Pow", ops.Pow, 0.5, math.Pow},
	}
	shapes := []struct {
		detail string
		x, y   operand
	}{
		{"", batch(4), batch(4)}, {"row", batch(4), param(4)}, {"column", batch(1), batch(4)},
		{"scalar", param(), batch(3)}, {"outer", batch(2, 1), param(1, 3)},
	}
	var out []opCase
	for _, b := range list {
		for _, s := range shapes {
			out = append(out, opCase{fn: b.fn, detail: s.detail, in: []operand{s.x.in(b.lo, 2), s.y.in(b.lo, 2)},
				build: second(b.op), ref: zipped(b.ref), tolerance: 1e-4})
		}
	}
	// Used twice, an operand's gradients are added by Gorgonia's own op, whose
	// shapes with dimensions of 1 are special.
	for _, x := range []operand{param(), param(1), param(1, 1), param(1, 4), param(4, 1), param(1, 1, 1), batch(), batch(1), batch(1, 1), batch(4)} {
		out = append(out, opCase{fn: "Mul", detail: fmt.Sprint("twice", x.shape), in: []operand{x},
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.Mul(c, in[0], in[0]) }, ref: mapped(func(x float64) float64 { return x * x })})
	}
	zero := func(x, y float64) float64 { return 0 }
	return append(out, opCase{fn: "DivNoNan", detail: "by zero", in: []operand{batch(3), batch(3)}, noGrad: true, ref: zipped(zero),
		build: func(c models.Context, in []*G.Node) *G.Node { return ops.DivNoNan(c, in[0], ops.ZerosLike(c, in[1])) }})
}

func compareCases() []opCase {
	list := []struct {
		fn  string
		op  binaryOp
		ref func(x, y float64) bool
	}{
		{"Equal", ops.Equal, func(x, y float64) bool { return x == y }},
		{"NotEqual", ops.NotEqual, func(x, y float64) bool { return x != y }},
		{"Less", ops.Less, func(x, y float64) bool { return x < y }},
		{"LessEqual", ops.LessEqual, func(x, y float64) bool { return x <= y }},
		{"Greater", ops.Greater, func(x, y float64) bool { return x > y }},
		{"GreaterEqual", ops.GreaterEqual, func(x, y float64) bool { return x >= y }},
	}
	var out []opCase
	for _, b := range list {
		ref := zipped(func(x, y float64) float64 { return truth(b.ref(x, y)) })
		out = append(out, opCase{fn: b.fn, in: []operand{batch(5), param(5)}, build: second(b.op), ref: ref, noGrad: true},
			opCase{fn: b.fn, detail: "int64", in: []operand{batch(9).in(0, 3).of(tensor.Int64), batch(9).in(0, 3).of(tensor.Int64)},
				build: second(b.op), ref: ref, noGrad: true})
	}
	bit := func() operand { return batch(6).in(0, 2).of(tensor.Bool) }
	choose := func(in []*array) *array {
		return fill(bshape(in...), func(i []int) float64 {
			if in[0].bcast(i) != 0 {
				return in[1].bcast(i)
			}
			return in[2].bcast(i)
		})
	}
	where := func(c models.Context, in []*G.Node) *G.Node { return ops.Where(c, in[0], in[1], in[2]) }
	return append(out,
		opCase{fn: "LogicalAnd", in: []operand{bit(), bit()}, build: second(ops.LogicalAnd), noGrad: true, ref: zipped(func(x, y float64) float64 { return x * y })},
		opCase{fn: "LogicalOr", in: []operand{bit(), bit()}, build: second(ops.LogicalOr), noGrad: true, ref: zipped(func(x, y float64) float64 { return max(x, y) })},
		opCase{fn: "LogicalNot", in: []operand{bit()}, build: first(ops.LogicalNot), noGrad: true, ref: mapped(func(x float64) float64 { return 1 - x })},
		opCase{fn: "Where", in: []operand{bit(), batch(6), batch(6)}, build: where, ref: choose},
		opCase{fn: "Where", detail: "broadcast", in: []operand{batch(1).in(0, 2).of(tensor.Bool), param(6), param()}, build: where, ref: choose})
}

func reduceCases() []opCase {
	list := []struct {
		fn  string
		op  func(c models.Context, x *G.Node, r ...ops.Reduction) *G.Node
		ref func(keep bool, axes ...int) func(in []*array) *array
	}{
		{"Sum", ops.Sum, func(keep bool, axes ...int) func(in []*array) *array {
			return folded(0, func(a, v float64) float64 { return a + v }, keep, axes...)
		}},
		{"Mean", ops.Mean, meaned},
		{"Max", ops.Max, func(keep bool, axes ...int) func(in []*array) *array {
			return folded(math.Inf(-1), math.Max, keep, axes...)
		}},
		{"Min", ops.Min, func(keep bool, axes ...int) func(in []*array) *array {
			return folded(math.Inf(1), math.Min, keep, axes...)
		}},
	}
	var out []opCase
	for _, r := range list {
		add := func(detail string, red []ops.Reduction, keep bool, axes ...int) {
			out = append(out, opCase{fn: r.fn, detail: detail, in: []operand{batch(3, 4)}, ref: r.ref(keep, axes...),
				build: func(c models.Context, in []*G.Node) *G.Node { return r.op(c, in[0], red...) }})
		}
		add("all", nil, false)
		add("batch", []ops.Reduction{ops.Axes(0)}, false, 0)
		add("last kept", []ops.Reduction{ops.KeepAxes(-1)}, true, 2)
		add("two", []ops.Reduction{ops.Axes(2, 0)}, false, 0, 2)
	}
	out = append(out, opCase{fn: "Mean", detail: "scalar", in: []operand{param()}, ref: mapped(func(x float64) float64 { return x }),
		build: func(c models.Context, in []*G.Node) *G.Node { return ops.Mean(c, in[0]) }})
	half := func(in []*array) *array {
		y := zeros()
		for _, v := range in[0].data {
			y.data[0] += v * v / 2
		}
		return y
	}
	argmax := func(in []*array) *array {
		return fill(in[0].shape[:1], func(i []int) float64 {
			best := 0
			for k := range in[0].shape[1] {
				if in[0].at(i[0], k) > in[0].at(i[0], best) {
					best = k
				}
			}
			return float64(best)
		})
	}
	return append(out, opCase{fn: "L2Loss", in: []operand{batch(5)}, build: first(ops.L2Loss), ref: half},
		opCase{fn: "ArgMax", in: []operand{batch(5)}, noGrad: true, ref: argmax,
			build: func(c models.Context, in []*G.Node) *G.Node { return ops.ArgMax(c, in[0], -1) }})
}
