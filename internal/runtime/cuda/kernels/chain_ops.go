package kernels

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// elementOp is how a TensorFlow op of one element is written in CUDA C++: %1, %2 and %3 stand for its inputs.
type elementOp struct {
	inputs int
	text   string
	types  string // f floats, i integers, b bool: of its first input
}

// elementOps take the gradient's inputs in the order of TensorFlow's ops.
var elementOps = map[string]elementOp{
	"Identity": {1, "%1", "fib"}, "StopGradient": {1, "%1", "fib"}, "ZerosLike": {1, "0", "fib"}, "OnesLike": {1, "1", "fi"},
	"Neg": {1, "-%1", "fi"}, "Abs": {1, "absolute(%1)", "fi"}, "Sign": {1, "sign(%1)", "fi"}, "Square": {1, "square(%1)", "fi"},
	"Sqrt": {1, "sqrt_(%1)", "f"}, "Rsqrt": {1, "rsqrt_(%1)", "f"}, "Reciprocal": {1, "reciprocal(%1)", "f"}, "Inv": {1, "reciprocal(%1)", "f"},
	"Exp": {1, "exp_(%1)", "f"}, "Log": {1, "log_(%1)", "f"}, "Log1p": {1, "log1p_(%1)", "f"}, "Expm1": {1, "expm1_(%1)", "f"},
	"Floor": {1, "floor_(%1)", "f"}, "Ceil": {1, "ceil_(%1)", "f"}, "Round": {1, "rint_(%1)", "f"}, "Erf": {1, "erf_(%1)", "f"},
	"Sin": {1, "sin_(%1)", "f"}, "Cos": {1, "cos_(%1)", "f"}, "Tanh": {1, "tanh_(%1)", "f"}, "Sigmoid": {1, "sigmoid(%1)", "f"},
	"Relu": {1, "relu(%1)", "f"}, "Relu6": {1, "relu6(%1)", "f"}, "Elu": {1, "elu(%1)", "f"}, "Selu": {1, "selu(%1)", "f"},
	"Softplus": {1, "softplus(%1)", "f"}, "Softsign": {1, "softsign(%1)", "f"}, "LeakyRelu": {1, "leaky_relu(%1, %a)", "f"},
	"IsFinite": {1, "(%1 - %1 == 0)", "f"}, "IsNan": {1, "(%1 != %1)", "f"}, "IsInf": {1, "(%1 == %1 && %1 - %1 != 0)", "f"},
	"LogicalNot": {1, "!%1", "b"},

	"Add": {2, "%1 + %2", "fi"}, "AddV2": {2, "%1 + %2", "fi"}, "BiasAdd": {2, "%1 + %2", "f"}, "Sub": {2, "%1 - %2", "fi"}, "Mul": {2, "%1 * %2", "fi"},
	"RealDiv": {2, "%1 / %2", "f"}, "Div": {2, "%1 / %2", "f"}, "Pow": {2, "pow_(%1, %2)", "f"}, "DivNoNan": {2, "div_no_nan(%1, %2)", "f"},
	"FloorDiv": {2, "floor_div(%1, %2)", "f"}, "FloorMod": {2, "floor_mod(%1, %2)", "f"}, // of integers: see divisions
	"Maximum": {2, "larger(%1, %2)", "fi"}, "Minimum": {2, "smaller(%1, %2)", "fi"}, "SquaredDifference": {2, "squared_difference(%1, %2)", "fi"},
	"LogicalAnd": {2, "%1 && %2", "b"}, "LogicalOr": {2, "%1 || %2", "b"},
	"Equal": {2, "%1 == %2", "fib"}, "NotEqual": {2, "%1 != %2", "fib"}, "Less": {2, "%1 < %2", "fi"}, "LessEqual": {2, "%1 <= %2", "fi"},
	"Greater": {2, "%1 > %2", "fi"}, "GreaterEqual": {2, "%1 >= %2", "fi"},

	"SigmoidGrad": {2, "sigmoid_grad(%2, %1)", "f"}, "TanhGrad": {2, "tanh_grad(%2, %1)", "f"}, "SqrtGrad": {2, "sqrt_grad(%2, %1)", "f"},
	"RsqrtGrad": {2, "rsqrt_grad(%2, %1)", "f"}, "ReciprocalGrad": {2, "reciprocal_grad(%2, %1)", "f"}, "InvGrad": {2, "reciprocal_grad(%2, %1)", "f"},
	"ReluGrad": {2, "relu_grad(%1, %2)", "f"}, "Relu6Grad": {2, "relu6_grad(%1, %2)", "f"}, "EluGrad": {2, "elu_grad(%1, %2)", "f"},
	"SoftplusGrad": {2, "softplus_grad(%1, %2)", "f"}, "SeluGrad": {2, "selu_grad(%1, %2)", "f"}, "SoftsignGrad": {2, "softsign_grad(%1, %2)", "f"},
	"LeakyReluGrad": {2, "leaky_relu_grad(%1, %2, %a)", "f"},

	"SelectV2": {3, "%1 ? %2 : %3", "b"},
}

// divisions of integers note a divisor of zero.
var divisions = map[string]string{"FloorDiv": "floor_div_int(%1, %2, fault, op, i)", "FloorMod": "floor_mod_int(%1, %2, fault, op, i)"}

// Elementwise reports whether NewChain can write a node of the op.
func Elementwise(op string) bool {
	_, ok := elementOps[op]
	return ok || op == "Cast" || op == "AddN"
}

// ElementwiseOps are the ops that NewChain can write, in alphabetical order.
func ElementwiseOps() []string {
	all := append(slices.Collect(maps.Keys(elementOps)), "AddN", "Cast")
	slices.Sort(all)
	return all
}

// elementTypes are how elements lie in memory, how they are computed with, and their letter in elementOp.types. Bfloat16
// is computed as float and rounded where it is stored.
var elementTypes = map[tensor.DType]struct{ memory, value, letter string }{
	tensor.Float32: {"float", "float", "f"}, tensor.Float64: {"double", "double", "f"}, tensor.BFloat16: {"u16", "float", "f"},
	tensor.Int32: {"int", "int", "i"}, tensor.Int64: {"i64", "i64", "i"}, tensor.Uint8: {"u8", "u8", "i"}, tensor.Bool: {"u8", "bool", "b"},
	tensor.Int8: {"signed char", "signed char", "i"}, tensor.Int16: {"short", "short", "i"}, tensor.Uint16: {"u16", "u16", "i"},
	tensor.Uint32: {"u32", "u32", "i"}, tensor.Uint64: {"u64", "u64", "i"},
}

// expression writes a node over the names of its inputs.
func expression(n *graph.Node, in []string) (string, error) {
	from := n.Inputs[0].DType()
	switch n.Op {
	case "AddN":
		return strings.Join(in, " + "), nil
	case "Cast":
		if n.Outputs[0].DType == tensor.Bool {
			return in[0] + " != 0", nil
		}
		return in[0], nil
	}
	o, ok := elementOps[n.Op]
	if text := divisions[n.Op]; text != "" && (from == tensor.Int32 || from == tensor.Int64) {
		o.text, o.types = text, "i"
	}
	if !ok || len(in) != o.inputs {
		return "", fmt.Errorf("not an elementwise op of %d inputs", len(in))
	}
	if !strings.Contains(o.types, elementTypes[from].letter) {
		return "", fmt.Errorf("element type %v is not supported", from)
	}
	if n.Op == "BiasAdd" && n.Str("data_format") == "NCHW" {
		return "", fmt.Errorf("data_format NCHW is not supported")
	}
	value := elementTypes[from].value
	alpha := fmt.Sprintf("(%s)%s", value, strconv.FormatFloat(float64(n.Float("alpha", 0.2)), 'e', -1, 64))
	text := strings.ReplaceAll(o.text, "%a", alpha)
	for i, name := range in {
		text = strings.ReplaceAll(text, "%"+strconv.Itoa(i+1), name)
	}
	return text, nil
}
