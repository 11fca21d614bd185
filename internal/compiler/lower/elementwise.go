package lower

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// arithmetic and comparisons are Gorgonia's printed operators.
var arithmetic = map[string]string{"+": "AddV2", "-": "Sub", "⊙": "Mul", "÷": "RealDiv", "^": "Pow"}
var comparisons = map[string]string{"<": "Less", ">": "Greater", "<=": "LessEqual", ">=": "GreaterEqual", "==": "Equal", "!=": "NotEqual"}

// lowerBinary lowers elementwise operators of two operands.
func lowerBinary(s *site) (graph.Output, error) {
	x, y, err := s.align(s.in[0], s.in[1])
	if err != nil {
		return graph.Output{}, err
	}
	symbol, _, _ := strings.Cut(s.op.String(), " ")
	if op := arithmetic[symbol]; op != "" {
		if !x.DType().Float() && (op == "RealDiv" || op == "Pow") {
			return graph.Output{}, unsupported(s.node, fmt.Sprintf("%s of %v: expected float32 or float64", op, x.DType()))
		}
		return s.reshape(s.binary(op, x, y), s.shape...), nil
	}
	op := comparisons[symbol]
	if op == "" {
		return graph.Output{}, unsupported(s.node, "")
	}
	shape, _ := broadcast(sizes(x), sizes(y))
	truth := s.add(op, graph.Type{DType: tensor.Bool, Shape: graph.ShapeOf(shape...)}, graph.Attrs{"T": x.DType()}, x, y)
	return s.reshape(s.cast(truth, s.out.DType), s.shape...), nil
}

// align reshapes operands so that NumPy's broadcasting does what Gorgonia's does:
// there a vector equals a matrix of one row or column, and one element is a scalar.
func (s *site) align(x, y graph.Output) (graph.Output, graph.Output, error) {
	if x.DType() != y.DType() {
		return x, y, refuse(s.node, "NewConstant", fmt.Sprintf("its operands are %v and %v, because Gorgonia merges constants that print alike whatever their type",
			x.DType(), y.DType()), "one float type in the whole model, or a scalar made by models/ops")
	}
	x, y = s.fit(x), s.fit(y)
	if slices.Equal(sizes(x), s.shape) {
		y = s.shrink(y)
	} else if slices.Equal(sizes(y), s.shape) {
		x = s.shrink(x)
	}
	if shape, ok := broadcast(sizes(x), sizes(y)); !ok || tensor.NumElements(shape) != tensor.NumElements(s.shape) {
		return x, y, fmt.Errorf("operands of shapes %v and %v: expected a result of shape %v", x.Shape(), y.Shape(), s.out.Shape)
	}
	return x, y, nil
}

func (s *site) fit(x graph.Output) graph.Output {
	shape := sizes(x)
	switch n := tensor.NumElements(shape); {
	case slices.Equal(shape, s.shape) || len(shape) == 0:
		return x
	case n == 1:
		return s.reshape(x)
	case n == tensor.NumElements(s.shape):
		return s.reshape(x, s.shape...)
	}
	return x
}

// shrink undoes broadcasting repeats.
func (s *site) shrink(x graph.Output) graph.Output {
	for {
		from, ok := s.l.untiled[x]
		if !ok {
			return x
		}
		x = from
	}
}

func lowerMinimum(s *site) (graph.Output, error) { return s.extremum("Minimum") }
func lowerMaximum(s *site) (graph.Output, error) { return s.extremum("Maximum") }

func (s *site) extremum(op string) (graph.Output, error) {
	x, y, err := s.align(s.in[0], s.in[1])
	if err != nil {
		return graph.Output{}, err
	}
	return s.reshape(s.binary(op, x, y), s.shape...), nil
}

var unaries = map[string]string{
	"abs": "Abs", "sign": "Sign", "floor": "Floor", "sin": "Sin", "cos": "Cos", "exp": "Exp", "ln": "Log",
	"neg": "Neg", "square": "Square", "sqrt": "Sqrt", "inv": "Reciprocal", "invSqrt": "Rsqrt",
	"tanh": "Tanh", "sigmoid": "Sigmoid", "log1p": "Log1p", "expm1": "Expm1", "softplus": "Softplus",
}

// lowerUnary lowers elementwise functions of one operand.
func lowerUnary(s *site) (graph.Output, error) {
	x := s.in[0]
	name := s.op.String()
	if (name == "log2" || name == "invSqrt") && s.node.Deriv() != nil {
		return graph.Output{}, refuse(s.node, map[string]string{"log2": "Log2", "invSqrt": "InverseSqrt"}[name], "its gradient is wrong",
			map[string]string{"log2": "Log, times 1/ln 2", "invSqrt": "Inverse of Sqrt"}[name])
	}
	switch name {
	case "ceil":
		return s.unary("Neg", s.unary("Floor", s.unary("Neg", x))), nil
	case "cube":
		return s.binary("Mul", s.binary("Mul", x, x), x), nil
	case "log2":
		return s.binary("RealDiv", s.unary("Log", x), s.scalar("ln2", x.DType(), math.Ln2)), nil
	}
	if op := unaries[name]; op != "" {
		return s.unary(op, x), nil
	}
	return graph.Output{}, unsupported(s.node, "")
}
