package models

import "github.com/goestimator/goestimator/internal/compiler/graph"

// Tensor is a dense tensor in host memory: the values of predictions,
// variables and summaries.
type Tensor = graph.Tensor

// DType is an element type.
type DType = graph.DType

// The element types of variables, features and labels.
const (
	Float32 = graph.Float32
	Float64 = graph.Float64
	Int32   = graph.Int32
	Int64   = graph.Int64
	Uint8   = graph.Uint8
	Bool    = graph.Bool
	String  = graph.String
)

// Values returns t's elements as a slice that aliases t, or nil where t's type is not T's.
func Values[T graph.Element](t *Tensor) []T { return graph.Of[T](t) }
