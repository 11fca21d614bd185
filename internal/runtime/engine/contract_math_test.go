package engine

import (
	"math"
	"math/rand/v2"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/tensor"
)

// mapped is the reference of an elementwise op with broadcasting.
func mapped(f func(x ...float64) float64) func(in []nd, out [][]int) []nd {
	return func(in []nd, out [][]int) []nd {
		r := newND(out[0])
		args := make([]float64, len(in))
		for i := range r.data {
			for k, x := range in {
				args[k] = x.data[broadcastIndex(i, out[0], x.shape)]
			}
			r.data[i] = f(args...)
		}
		return []nd{r}
	}
}

// broadcastIndex returns the element of a tensor of the given shape that is used for element i of out.
func broadcastIndex(i int, out, shape []int) int {
	index, step := 0, 1
	for k := len(out) - 1; k >= 0; k-- {
		at := i % out[k]
		i /= out[k]
		if j := k - (len(out) - len(shape)); j >= 0 {
			if shape[j] != 1 {
				index += at * step
			}
			step *= shape[j]
		}
	}
	return index
}

func unaryCases() []*opCase {
	var all []*opCase
	add := func(op string, in operand, f func(x float64) float64) {
		o := in
		o.typ.Shape = sh("B,7")
		all = append(all,
			&opCase{op: op, in: []operand{o}, out: []graph.Type{{DType: in.typ.DType, Shape: o.typ.Shape}}, ref: mapped(func(x ...float64) float64 { return f(x[0]) })},
			&opCase{op: op, in: []operand{in}, out: []graph.Type{in.typ}, ref: mapped(func(x ...float64) float64 { return f(x[0]) })})
	}
	sign := func(x float64) float64 {
		if x == 0 || x != x {
			return x
		}
		return math.Copysign(1, x)
	}
	n := edgeFeedOf("2,B,33")
	for op, f := range map[string]func(float64) float64{
		"Neg": func(x float64) float64 { return -x }, "Abs": math.Abs, "Square": func(x float64) float64 { return x * x },
		"Sign": sign, "Exp": math.Exp, "Expm1": math.Expm1, "Floor": math.Floor, "Ceil": math.Ceil, "Round": math.RoundToEven,
		"Erf": math.Erf, "Sin": math.Sin, "Cos": math.Cos, "Tanh": math.Tanh,
		"Sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		"Relu":    func(x float64) float64 { return math.Max(x, 0) },
		"Relu6":   func(x float64) float64 { return math.Min(math.Max(x, 0), 6) },
		"Elu": func(x float64) float64 {
			if x > 0 {
				return x
			}
			return math.Expm1(x)
		},
		"Selu":     selu[float64],
		"Softplus": func(x float64) float64 { return math.Log1p(math.Exp(x)) },
		"Softsign": func(x float64) float64 { return x / (1 + math.Abs(x)) },
	} {
		add(op, n, f)
	}
	for op, f := range map[string]func(float64) float64{
		"Sqrt": math.Sqrt, "Rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "Log": math.Log, "Log1p": math.Log1p,
		"Reciprocal": func(x float64) float64 { return 1 / x }, "Inv": func(x float64) float64 { return 1 / x },
	} {
		add(op, n, f)
	}
	for op := range definedOps() {
		add(op.Name, n, op.Element.Float)
	}
	for op, f := range map[string]func(float32) float32{"_NearestBFloat16": kernels.RoundBrain, "_TruncatedBFloat16": kernels.TruncateBrain, "_NearestFloat16": kernels.RoundHalf} {
		all = append(all, &opCase{op: op, in: []operand{n}, out: []graph.Type{n.typ}, only: tensor.Float32,
			ref: mapped(func(x ...float64) float64 { return float64(f(float32(x[0]))) })})
	}
	for op, f := range map[string]func(float64) float64{"Neg": func(x float64) float64 { return -x }, "Abs": math.Abs,
		"Square": func(x float64) float64 { return x * x }, "Sign": sign} {
		for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
			add(op, operand{typ: ty(d, "B,5"), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(9) - 4) }}, f)
		}
	}
	leaky := mapped(func(x ...float64) float64 { return math.Max(x[0], 0) + 0.3*math.Min(x[0], 0) })
	all = append(all, &opCase{op: "LeakyRelu", attrs: graph.Attrs{"alpha": float32(0.3)}, in: []operand{n}, out: []graph.Type{n.typ}, ref: leaky, tol: 1e4})
	return append(append(all, gradCases()...), predicateCases()...)
}

func predicateCases() []*opCase {
	special := operand{typ: fl("B,9"), gen: func(r *rand.Rand, i int) float64 {
		return []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1)}[i%6]
	}}
	flag := func(f func(float64) bool) func(in []nd, out [][]int) []nd {
		return mapped(func(x ...float64) float64 { return truth(f(x[0])) })
	}
	out := []graph.Type{ty(tensor.Bool, "B,9")}
	return []*opCase{
		{op: "IsNan", in: []operand{special}, out: out, ref: flag(math.IsNaN)},
		{op: "IsInf", in: []operand{special}, out: out, ref: flag(func(x float64) bool { return math.IsInf(x, 0) })},
		{op: "IsFinite", in: []operand{special}, out: out, ref: flag(func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) })},
		{op: "LogicalNot", in: []operand{boolOf("B,9")}, out: out, ref: flag(func(x float64) bool { return x == 0 })},
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// gradCases have the gradients of the activations; ref takes the inputs in the op's order.
func gradCases() []*opCase {
	var all []*opCase
	add := func(op string, f func(a, b float64) float64, attrs graph.Attrs, tol float64) {
		for _, s := range []string{"B,7", "3,B,5"} {
			all = append(all, &opCase{op: op, attrs: attrs, tol: tol, in: []operand{edgeFeedOf(s), edgeFeedOf(s)}, out: []graph.Type{fl(s)},
				ref: mapped(func(x ...float64) float64 { return f(x[0], x[1]) })})
		}
	}
	when := func(c bool, a, b float64) float64 {
		if c {
			return a
		}
		return b
	}
	add("SigmoidGrad", func(y, dy float64) float64 { return dy * y * (1 - y) }, nil, 0)
	add("TanhGrad", func(y, dy float64) float64 { return dy * (1 - y*y) }, nil, 0)
	add("SqrtGrad", func(y, dy float64) float64 { return when(dy == 0, 0, dy*0.5/y) }, nil, 0)
	add("RsqrtGrad", func(y, dy float64) float64 { return when(dy == 0, 0, dy*-0.5*y*y*y) }, nil, 0)
	add("ReciprocalGrad", func(y, dy float64) float64 { return when(dy == 0, 0, -dy*y*y) }, nil, 0)
	add("InvGrad", func(y, dy float64) float64 { return when(dy == 0, 0, -dy*y*y) }, nil, 0)
	add("ReluGrad", func(dy, x float64) float64 { return when(x > 0, dy, dy*0) }, nil, 0)
	add("Relu6Grad", func(dy, x float64) float64 { return when(x > 0 && x < 6, dy, dy*0) }, nil, 0)
	add("EluGrad", func(dy, y float64) float64 { return when(y < 0, dy*(y+1), dy) }, nil, 0)
	add("SeluGrad", func(dy, y float64) float64 { return when(y < 0, dy*(y+seluScale*seluAlpha), dy*seluScale) }, nil, 0)
	add("SoftplusGrad", func(dy, x float64) float64 { return dy / (1 + math.Exp(-x)) }, nil, 0)
	add("SoftsignGrad", func(dy, x float64) float64 { return dy / math.Pow(1+math.Abs(x), 2) }, nil, 0)
	add("LeakyReluGrad", func(dy, x float64) float64 { return when(x > 0, dy, dy*float64(float32(0.2))) }, graph.Attrs{"alpha": float32(0.2)}, 0)
	return all
}

// broadcasts are operand shapes and the shape of their result.
var broadcasts = [][3]string{
	{"B,7", "B,7", "B,7"}, {"B,7", "", "B,7"}, {"", "B,7", "B,7"}, {"B,7", "7", "B,7"}, {"7", "B,7", "B,7"},
	{"B,1", "B,7", "B,7"}, {"B,7", "B,1", "B,7"}, {"B,1", "1,7", "B,7"}, {"B,3,1,5", "3,4,1", "B,3,4,5"},
	{"B,2,2,3", "3", "B,2,2,3"}, {"1", "1", "1"}, {"", "", ""}, {"B,1,5", "1,4,1", "B,4,5"}, {"3,B", "3,1", "3,B"},
}

func binaryCases() []*opCase {
	var all []*opCase
	add := func(op string, res tensor.DType, a, b operand, f func(x, y float64) float64) {
		for _, s := range broadcasts {
			a.typ.Shape, b.typ.Shape = sh(s[0]), sh(s[1])
			all = append(all, &opCase{op: op, in: []operand{a, b}, out: []graph.Type{{DType: res, Shape: sh(s[2])}},
				ref: mapped(func(x ...float64) float64 { return f(x[0], x[1]) }), tol: 2})
		}
	}
	n := edgeFeedOf("")
	arith := map[string]func(a, b float64) float64{
		"Add": func(a, b float64) float64 { return a + b }, "AddV2": func(a, b float64) float64 { return a + b },
		"Sub": func(a, b float64) float64 { return a - b }, "Mul": func(a, b float64) float64 { return a * b },
		"Maximum": func(a, b float64) float64 { return max(a, b) }, "Minimum": func(a, b float64) float64 { return min(a, b) },
		"SquaredDifference": func(a, b float64) float64 { return (a - b) * (a - b) },
	}
	floorMod := func(a, b float64) float64 { return a - b*math.Floor(a/b) }
	for op, f := range arith {
		add(op, tensor.Float32, n, n, f)
		for _, d := range []tensor.DType{tensor.Int32, tensor.Int64} {
			add(op, d, intsOf(d, "", 9), intsOf(d, "", 9), f)
		}
	}
	add("RealDiv", tensor.Float32, n, n, func(a, b float64) float64 { return a / b })
	add("Div", tensor.Float32, n, n, func(a, b float64) float64 { return a / b })
	add("Pow", tensor.Float32, n, n, math.Pow)
	add("FloorMod", tensor.Float32, n, n, func(a, b float64) float64 {
		m := math.Mod(a, b)
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	})
	add("FloorDiv", tensor.Float32, n, n, func(a, b float64) float64 { return math.Floor(a / b) })
	signed := operand{typ: ty(tensor.Int32, ""), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(19) - 9) }}
	nonzero := operand{typ: ty(tensor.Int32, ""), gen: func(r *rand.Rand, _ int) float64 { return float64(r.IntN(4)*2 - 3) }}
	add("FloorMod", tensor.Int32, signed, nonzero, floorMod)
	add("FloorDiv", tensor.Int32, signed, nonzero, func(a, b float64) float64 { return math.Floor(a / b) })
	maybeZero := operand{typ: fl(""), gen: func(r *rand.Rand, i int) float64 { return float64(r.IntN(3)) }}
	add("DivNoNan", tensor.Float32, n, maybeZero, func(a, b float64) float64 {
		if b == 0 {
			return 0
		}
		return a / b
	})
	for op, f := range map[string]func(a, b float64) bool{
		"Equal": func(a, b float64) bool { return a == b }, "NotEqual": func(a, b float64) bool { return a != b },
		"Less": func(a, b float64) bool { return a < b }, "LessEqual": func(a, b float64) bool { return a <= b },
		"Greater": func(a, b float64) bool { return a > b }, "GreaterEqual": func(a, b float64) bool { return a >= b },
	} {
		for _, o := range []operand{n, intsOf(tensor.Int32, "", 3), intsOf(tensor.Int64, "", 3), intsOf(tensor.Uint8, "", 3)} {
			add(op, tensor.Bool, o, o, func(a, b float64) float64 { return truth(f(a, b)) })
		}
	}
	add("LogicalAnd", tensor.Bool, boolOf(""), boolOf(""), func(a, b float64) float64 { return a * b })
	add("LogicalOr", tensor.Bool, boolOf(""), boolOf(""), math.Max)
	return all
}

// reduced is the reference of a reduction over axes: f folds the elements of one result in order.
func reduced(f func(xs []float64) float64) func(in []nd, out [][]int) []nd {
	return func(in []nd, out [][]int) []nd {
		x, r := in[0], newND(out[0])
		axes := map[int]bool{}
		for _, a := range in[1].data {
			axes[(int(a)+len(x.shape))%len(x.shape)] = true
		}
		parts := make([][]float64, len(r.data))
		for i, e := range x.data {
			to, step, rest := 0, 1, i
			for k := len(x.shape) - 1; k >= 0; k-- {
				if !axes[k] {
					to += rest % x.shape[k] * step
					step *= x.shape[k]
				}
				rest /= x.shape[k]
			}
			parts[to] = append(parts[to], e)
		}
		for i, p := range parts {
			r.data[i] = f(p)
		}
		return []nd{r}
	}
}

func foldOf(zero float64, f func(a, b float64) float64) func([]float64) float64 {
	return func(xs []float64) float64 {
		a := zero
		for _, x := range xs {
			a = f(a, x)
		}
		return a
	}
}

func reduceCases() []*opCase {
	plus := foldOf(0, func(a, b float64) float64 { return a + b })
	times := foldOf(1, func(a, b float64) float64 { return a * b })
	ops := map[string]func([]float64) float64{"Sum": plus, "Prod": times, "Max": foldOf(math.Inf(-1), func(a, b float64) float64 { return max(a, b) }), "Min": foldOf(math.Inf(1), func(a, b float64) float64 { return min(a, b) }),
		"Mean": func(xs []float64) float64 { return plus(xs) / float64(len(xs)) }}
	shapes := []struct {
		in, out string
		axes    []float64
		keep    bool
	}{
		{"B,5", "B", []float64{1}, false}, {"B,5", "5", []float64{0}, false}, {"B,5", "", []float64{0, 1}, false}, {"B,5", "B,1", []float64{-1}, true},
		{"B,3,4,2", "2", []float64{0, 1, 2}, false}, {"B,3,4,2", "B,2", []float64{1, 2}, false}, {"B,3,4,2", "3,2", []float64{0, 2}, false},
		{"B,3,4,2", "1,3,1,2", []float64{0, 2}, true}, {"B,3,4,2", "B,4", []float64{1, 3}, false}, {"B,5", "B,5", []float64{}, false}, {"", "", []float64{}, false},
	}
	var all []*opCase
	add := func(op string, d tensor.DType, o operand, f func([]float64) float64) {
		for _, s := range shapes {
			o.typ = graph.Type{DType: d, Shape: sh(s.in)}
			all = append(all, &opCase{op: op, attrs: graph.Attrs{"keep_dims": s.keep}, in: []operand{o, ints(s.axes...)}, out: []graph.Type{{DType: d, Shape: sh(s.out)}}, ref: reduced(f), tol: 4})
		}
	}
	for op, f := range ops {
		add(op, tensor.Float32, positive(""), f)
		add(op, tensor.Float32, edgeFeedOf(""), f)
		if op != "Mean" {
			add(op, tensor.Int32, intsOf(tensor.Int32, "", 3), f)
			add(op, tensor.Int64, intsOf(tensor.Int64, "", 3), f)
		}
	}
	add("All", tensor.Bool, boolOf(""), foldOf(1, math.Min))
	add("Any", tensor.Bool, boolOf(""), foldOf(0, math.Max))
	all = append(all, &opCase{op: "L2Loss", in: []operand{feedOf("B,9")}, out: []graph.Type{fl("")}, tol: 4, ref: func(in []nd, out [][]int) []nd {
		r := newND(nil)
		for _, x := range in[0].data {
			r.data[0] += x * x / 2
		}
		return []nd{r}
	}})
	return all
}
