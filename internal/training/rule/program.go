package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/models/expr"
	"github.com/goestimator/goestimator/tensor"
)

// Emission adds the nodes of a program. Scalars are computed in float64 and
// converted when combined with a tensor.
type Emission struct {
	B      *graph.Builder
	Scope  string                  // of node names, ends in a slash
	Tensor graph.Type              // type of values that are not scalars
	Inputs map[string]graph.Output // float64 scalars, or values of type Tensor
}

// Emit adds the program and returns its results.
func (e Emission) Emit(p expr.Program) []graph.Output {
	values := make([]graph.Output, 0, len(p.Instructions))
	for _, i := range p.Instructions {
		if e.B.Err() != nil {
			return make([]graph.Output, len(p.Results))
		}
		values = append(values, e.instruction(i, values))
	}
	out := make([]graph.Output, len(p.Results))
	for i, r := range p.Results {
		out[i] = values[r]
	}
	return out
}

func (e Emission) instruction(i expr.Instruction, values []graph.Output) graph.Output {
	in := make([]graph.Output, len(i.Args))
	for j, a := range i.Args {
		in[j] = values[a]
	}
	switch i.Op {
	case "Const":
		return Scalars{e.B, e.Scope}.Number(i.Value)
	case "Input":
		return e.Inputs[i.Name]
	case "Norm":
		return e.norm(in[0])
	case "WhenLess":
		return e.whenLess(in)
	}
	t := e.typeOf(in)
	return e.B.Op(i.Op, e.Scope+i.Op, t, graph.Attrs{"T": t.DType}, e.cast(t, in)...)
}

// whenLess returns the third of four values if the first is less than the second, else the fourth.
func (e Emission) whenLess(in []graph.Output) graph.Output {
	t, all := e.typeOf(in[:2]), e.typeOf(in)
	less := e.cast(t, in[:2])
	cond := e.B.Op("Less", e.Scope+"Less", graph.Type{DType: tensor.Bool, Shape: t.Shape}, graph.Attrs{"T": t.DType}, less...)
	values := e.cast(all, in[2:])
	return Choose(e.B, cond, e.Scope, all, values[0], values[1])
}

// typeOf is the type of an elementwise op's result.
func (e Emission) typeOf(in []graph.Output) graph.Type {
	for _, x := range in {
		if !e.scalar(x) {
			return e.Tensor
		}
	}
	return Scalar
}

// cast converts operands to the element type of t.
func (e Emission) cast(t graph.Type, in []graph.Output) []graph.Output {
	out := make([]graph.Output, len(in))
	for i, x := range in {
		out[i] = e.B.Cast(e.Scope+"Cast", x, t.DType)
	}
	return out
}

// scalar reports whether x is a scalar of its own, not a value with the variable's shape.
func (e Emission) scalar(x graph.Output) bool {
	return x.Shape().Rank() == 0 && x.DType() == tensor.Float64
}

// norm is the L2 norm of all elements.
func (e Emission) norm(x graph.Output) graph.Output {
	c := Scalars{e.B, e.Scope}
	if e.scalar(x) {
		return c.Op("Abs", x)
	}
	half := e.B.Op("L2Loss", e.Scope+"L2Loss", graph.Type{DType: x.DType()}, graph.Attrs{"T": x.DType()}, x)
	return c.Op("Sqrt", c.Op("Mul", e.B.Cast(e.Scope+"Cast", half, tensor.Float64), c.Number(2)))
}
