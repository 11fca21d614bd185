package optimizers

import (
	"math"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// num is a float64 scalar: a known number, or an output of the graph.
type num struct {
	v   float64
	out graph.Output
}

func number(v float64) num { return num{v: v} }

// calc computes with nums: at once where both operands are known, else by
// adding nodes. So a formula written once gives its value and its graph.
type calc struct {
	b     *graph.Builder
	scope string // of node names, "" or ending in a slash
}

var scalar64 = graph.Type{DType: tensor.Float64}

// output returns x as an output.
func (c calc) output(x num) graph.Output {
	if x.out.Valid() || c.b.Err() != nil {
		return x.out
	}
	return c.b.Scalar(c.scope+"Const", tensor.Float64, x.v)
}

func (c calc) unary(op string, f func(float64) float64, x num) num {
	if !x.out.Valid() {
		return number(f(x.v))
	}
	return num{out: c.b.Op(op, c.scope+op, scalar64, graph.Attrs{"T": tensor.Float64}, x.out)}
}

func (c calc) binary(op string, f func(x, y float64) float64, x, y num) num {
	if !x.out.Valid() && !y.out.Valid() {
		return number(f(x.v, y.v))
	}
	return num{out: c.b.Op(op, c.scope+op, scalar64, graph.Attrs{"T": tensor.Float64}, c.output(x), c.output(y))}
}

func (c calc) exp(x num) num   { return c.unary("Exp", math.Exp, x) }
func (c calc) log(x num) num   { return c.unary("Log", math.Log, x) }
func (c calc) cos(x num) num   { return c.unary("Cos", math.Cos, x) }
func (c calc) floor(x num) num { return c.unary("Floor", math.Floor, x) }
func (c calc) sqrt(x num) num  { return c.unary("Sqrt", math.Sqrt, x) }

func (c calc) add(x, y num) num {
	return c.binary("AddV2", func(x, y float64) float64 { return x + y }, x, y)
}
func (c calc) sub(x, y num) num {
	return c.binary("Sub", func(x, y float64) float64 { return x - y }, x, y)
}
func (c calc) mul(x, y num) num {
	return c.binary("Mul", func(x, y float64) float64 { return x * y }, x, y)
}
func (c calc) div(x, y num) num {
	return c.binary("RealDiv", func(x, y float64) float64 { return x / y }, x, y)
}
func (c calc) min(x, y num) num { return c.binary("Minimum", math.Min, x, y) }
func (c calc) max(x, y num) num { return c.binary("Maximum", math.Max, x, y) }
func (c calc) pow(x, y num) num { return c.binary("Pow", math.Pow, x, y) }

// whenLess returns then where x < y, else otherwise.
func (c calc) whenLess(x, y, then, otherwise num) num {
	if !x.out.Valid() && !y.out.Valid() {
		if x.v < y.v {
			return then
		}
		return otherwise
	}
	truth := c.b.Op("Less", c.scope+"Less", graph.Type{DType: tensor.Bool}, graph.Attrs{"T": tensor.Float64}, c.output(x), c.output(y))
	return num{out: c.b.Op("SelectV2", c.scope+"SelectV2", scalar64, graph.Attrs{"T": tensor.Float64}, truth, c.output(then), c.output(otherwise))}
}

// cast converts x to another element type.
func cast(b *graph.Builder, name string, x graph.Output, to tensor.DType) graph.Output {
	if !x.Valid() || x.DType() == to {
		return x
	}
	return b.Op("Cast", name, graph.Type{DType: to, Shape: x.Shape()},
		graph.Attrs{"SrcT": x.DType(), "DstT": to, "Truncate": false}, x)
}

// cast converts a scalar to the variable's type.
func (a *application) cast(x graph.Output) graph.Output {
	return cast(a.b, a.scope+"Cast", x, a.v.DType)
}
