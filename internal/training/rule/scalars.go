package rule

import (
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Scalars adds nodes that compute with float64 scalars.
type Scalars struct {
	B     *graph.Builder
	Scope string // of node names, "" or ending in a slash
}

// Scalar is the type of what Scalars computes.
var Scalar = graph.Type{DType: tensor.Float64}

// Number adds a constant.
func (c Scalars) Number(v float64) graph.Output {
	return c.B.Scalar(c.Scope+"Const", tensor.Float64, v)
}

// Op adds one of TensorFlow's elementwise ops that have one operand type.
func (c Scalars) Op(op string, in ...graph.Output) graph.Output {
	return c.B.Op(op, c.Scope+op, Scalar, graph.Attrs{"T": tensor.Float64}, in...)
}

// WhenLess returns then where x < y, else otherwise.
func (c Scalars) WhenLess(x, y, then, otherwise graph.Output) graph.Output {
	cond := c.B.Op("Less", c.Scope+"Less", graph.Type{DType: tensor.Bool}, graph.Attrs{"T": tensor.Float64}, x, y)
	return Choose(c.B, cond, c.Scope, Scalar, then, otherwise)
}

// Choose returns yes where cond holds, else no; both of type t.
func Choose(b *graph.Builder, cond graph.Output, scope string, t graph.Type, yes, no graph.Output) graph.Output {
	return b.Op("SelectV2", scope+"SelectV2", t, graph.Attrs{"T": t.DType}, cond, yes, no)
}
