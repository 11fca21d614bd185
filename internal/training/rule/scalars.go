package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Scalars adds nodes that compute with float64 scalars.
type Scalars struct {
	B     *graph.Builder
	Scope string // prefix of node names, "" or ending in a slash
}

// Scalar is the type that Scalars computes with.
var Scalar = graph.Type{DType: tensor.Float64}

// Number adds a constant.
func (c Scalars) Number(v float64) graph.Output {
	return c.B.Scalar(c.Scope+"Const", tensor.Float64, v)
}

// Op adds one of TensorFlow's elementwise ops with a single operand type.
func (c Scalars) Op(op string, in ...graph.Output) graph.Output {
	return c.B.Op(op, c.Scope+op, Scalar, graph.Attrs{"T": tensor.Float64}, in...)
}

// WhenLess returns then if x < y, else otherwise.
func (c Scalars) WhenLess(x, y, then, otherwise graph.Output) graph.Output {
	cond := c.B.Op("Less", c.Scope+"Less", graph.Type{DType: tensor.Bool}, graph.Attrs{"T": tensor.Float64}, x, y)
	return Choose(c.B, cond, c.Scope, Scalar, then, otherwise)
}

// Choose returns yes if cond is true, else no; both have type t.
func Choose(b *graph.Builder, cond graph.Output, scope string, t graph.Type, yes, no graph.Output) graph.Output {
	return b.Op("SelectV2", scope+"SelectV2", t, graph.Attrs{"T": t.DType}, cond, yes, no)
}
