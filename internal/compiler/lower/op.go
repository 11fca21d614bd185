package lower

import (
	"slices"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Op is a Gorgonia op that knows its form in the intermediate representation.
type Op interface {
	// Lower adds the op's nodes and returns one value per output of the op.
	Lower(e *Emitter, in []Value) ([]Value, error)
}

// Selector is a Gorgonia op with one operand that stands for another output of
// that operand: Gorgonia's own nodes have a single output.
type Selector interface {
	OutputIndex() int
}

// Value is what a Gorgonia node becomes: a dense output, or a sparse gradient with
// separate rows for each lookup. The gradient is the sum of all rows, each in its place.
type Value struct {
	graph.Output             // not valid if the value is sparse
	Slices       []Slices    // one for each lookup; nil if the value is dense
	Dense        graph.Shape // the shape of the tensor that a sparse value stands for
}

// Slices are the rows of a gradient that one lookup makes (TensorFlow's
// IndexedSlices): Rows, [n, ...], and Indices, int64 or int32 [n], which say
// where in dimension 0 of the table they belong. An index may occur more than once;
// a negative index names no row, and its row is zero. Without Indices, Rows is the
// whole table's gradient.
type Slices struct {
	Rows, Indices graph.Output
	// ByIndex says that code which looks at single rows before they reach the
	// variable must first sum rows of equal index: TensorFlow's lookups of
	// sparse ids gather each row once. Otherwise each row stands by itself.
	ByIndex bool
}

// SparseValue returns a sparse value for a table of that shape.
func SparseValue(table graph.Shape, s ...Slices) Value { return Value{Slices: s, Dense: table} }

// Sparse reports whether v is a sparse gradient.
func (v Value) Sparse() bool { return len(v.Slices) > 0 }

// Valid reports whether v is a value.
func (v Value) Valid() bool { return v.Output.Valid() || v.Sparse() && v.Slices[0].Rows.Valid() }

// Type returns the type of the tensor that v is or stands for.
func (v Value) Type() graph.Type {
	if v.Sparse() {
		return graph.Type{DType: v.Slices[0].Rows.DType(), Shape: v.Dense}
	}
	return v.Output.Type()
}

// DType returns the type of the elements.
func (v Value) DType() tensor.DType { return v.Type().DType }

// Shape returns the shape of the tensor that v is or stands for.
func (v Value) Shape() graph.Shape { return v.Type().Shape }

// Map returns v with f applied to its dense output, or to the rows of each lookup.
func (v Value) Map(f func(graph.Output) graph.Output) Value {
	if !v.Sparse() {
		v.Output = f(v.Output)
		return v
	}
	v.Slices = slices.Clone(v.Slices)
	for i := range v.Slices {
		v.Slices[i].Rows = f(v.Slices[i].Rows)
	}
	return v
}

// Parts returns the dense output of v, or the rows of each lookup.
func (v Value) Parts() []graph.Output {
	if !v.Sparse() {
		return []graph.Output{v.Output}
	}
	var out []graph.Output
	for _, s := range v.Slices {
		out = append(out, s.Rows)
	}
	return out
}

// Outputs returns the dense output of v, or the rows and indices of each lookup.
func (v Value) Outputs() []graph.Output {
	if !v.Sparse() {
		return []graph.Output{v.Output}
	}
	var out []graph.Output
	for _, s := range v.Slices {
		out = append(out, s.Rows, s.Indices)
	}
	return out
}

// Emitter is the Builder that an Op lowers itself with.
type Emitter struct {
	*graph.Builder
	Name string     // suggested node name, scopes included
	Out  graph.Type // type and (build-time) shape of the Gorgonia node that is lowered
	Seed int64      // graph-level seed

	step graph.Output
}

// GlobalStep returns the int64 scalar global step as of the start of the program's run.
func (e *Emitter) GlobalStep() graph.Output { return e.step }
