package lower

import "github.com/goestimator/goestimator/internal/graph"

// Op is a Gorgonia op that knows its form in the intermediate representation.
type Op interface {
	// Lower adds the op's nodes and returns one value per output of the op.
	Lower(e *Emitter, in []Value) ([]Value, error)
}

// Selector is a Gorgonia op with one operand that stands for another output of
// that operand: Gorgonia's own nodes have but one.
type Selector interface {
	OutputIndex() int
}

// Value is what a Gorgonia node becomes: a dense output, or the rows of a
// sparse gradient (TensorFlow's IndexedSlices): Output then holds the rows,
// [n, ...], and Indices, int64 or int32 [n], says where in dimension 0 of Dense they belong.
type Value struct {
	graph.Output
	Indices graph.Output
	Dense   graph.Shape // the shape of the tensor that a sparse value stands for
}

// Sparse reports whether v holds rows of a sparse gradient.
func (v Value) Sparse() bool { return v.Indices.Valid() }

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
