package inputs

import "github.com/goestimator/goestimator/internal/compiler/graph"

// DType is the element type of a column.
type DType = graph.DType

// Tensor is a dense tensor in host memory.
type Tensor = graph.Tensor

// The element types of columns.
const (
	Float32 = graph.Float32
	Float64 = graph.Float64
	Int8    = graph.Int8
	Int16   = graph.Int16
	Int32   = graph.Int32
	Int64   = graph.Int64
	Uint8   = graph.Uint8
	Uint16  = graph.Uint16
	Uint32  = graph.Uint32
	Uint64  = graph.Uint64
	Bool    = graph.Bool
	String  = graph.String
)
