package columngraph

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Raw is a raw feature in a graph: exactly one of its fields is set.
type Raw struct {
	// Dense is [B, ...], with the same number of values in each row; for a scalar feature [B].
	// In a categorical feature, "" and -1 mean no value, as in Transform.
	Dense graph.Output
	// Sparse is ragged: all its values count.
	Sparse *SparseTensor
}

// SparseTensor is a tensor of rank 2, [B, longest row], in row-major order.
type SparseTensor struct {
	Indices    graph.Output // int64 [n, 2]: row, and position in the row
	Values     graph.Output // [n]
	DenseShape graph.Output // int64 [2]
}

// dtype is the type of the values.
func (r Raw) dtype() tensor.DType {
	if r.Sparse != nil {
		return r.Sparse.Values.DType()
	}
	return r.Dense.DType()
}

// Emitted is an output of a plan in a graph: Dense, float32 [B, Width], or ragged
// Values [n], int64 ids or steps of ids, float32 weights or steps of numbers, with Offsets
// int64 [B+1]: row i has the values Offsets[i] to Offsets[i+1]-1.
type Emitted struct {
	Dense           graph.Output
	Values, Offsets graph.Output
	// Rows and Bounds, if set, say the same as Offsets: the row of each
	// value, int64 [n], and the number of offsets, int64 of rank 0.
	Rows, Bounds graph.Output
}

// Asset is a file that a graph reads during initialisation.
type Asset struct {
	Name    string       // of the file, unique in its Emission
	Content []byte       // one vocabulary entry per line
	Tensor  graph.Output // the constant string [] with Name; a loader feeds the file's path instead
}

// Emission is what Emit added to a graph.
type Emission struct {
	// Outputs are the columns that Transform makes, by name (Input.Values,
	// Input.Weights), and the features of Columns.Keep that are in raw, unchanged.
	Outputs map[string]Emitted
	// Init are the operations that fill lookup tables, a part of the graph's
	// initialisation. Run them once before the outputs; they may run again.
	Init   []*graph.Node
	Assets []Asset
}

// Emit adds TensorFlow operations to the graph of b that compute what p.Transform
// computes, bit for bit, from raw features by key; TensorFlow can run them, too. It
// needs every feature that columns read. The error names the feature or column; a
// Normalizer.Func is an error, as it has no operations. Where Transform fails with an inputs.RowError, the operations behave like
// TensorFlow's columns: NaN and infinite numbers pass; an id that is too large for
// an Identity, and weights that do not match the ids, fail the run.
func Emit(p *feature.Plan, b *graph.Builder, raw map[string]Raw) (*Emission, error) {
	for _, key := range p.Reads() {
		if err := readable(p, key, raw); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Outputs() {
		if err := check(o.Column); err != nil {
			return nil, fmt.Errorf("feature columns: %w", err)
		}
	}
	e := &emitter{b: b, raw: raw, known: map[any]any{}, out: &Emission{Outputs: map[string]Emitted{}}}
	for _, o := range p.Outputs() {
		e.out.Outputs[o.Name] = e.output(o)
	}
	for _, key := range p.Kept() {
		if r, ok := raw[key]; ok && r.check() == nil {
			e.out.Outputs[key] = e.keep(key, r)
		}
	}
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("feature columns: %w", err)
	}
	return e.out, nil
}

// keep returns a raw feature unchanged.
func (e *emitter) keep(key string, r Raw) Emitted {
	if r.Sparse == nil {
		return Emitted{Dense: r.Dense}
	}
	l := e.at(key).listed(*r.Sparse)
	return l.emitted(l.values)
}

// check returns errors of a raw feature that do not depend on its readers.
func (r Raw) check() error {
	switch s := r.Sparse; {
	case (s != nil) == r.Dense.Valid():
		return fmt.Errorf("expected a dense tensor or a sparse one")
	case s != nil && !(s.Indices.Valid() && s.Values.Valid() && s.DenseShape.Valid()):
		return fmt.Errorf("its sparse tensor lacks indices, values or shape")
	case s != nil:
		return nil
	}
	shape := r.Dense.Shape()
	if shape.Rank() < 1 || shape.Rank() > 2 && slices.ContainsFunc(shape.Dims[1:], func(d graph.Dim) bool { return !d.Static() }) {
		return fmt.Errorf("it has shape %v: expected [B], [B, n] or fixed dimensions after the first", shape)
	}
	return nil
}

// readable returns an error if the columns cannot read a raw feature of a graph.
func readable(p *feature.Plan, key string, raw map[string]Raw) error {
	x, ok := raw[key]
	if !ok {
		return fmt.Errorf("feature columns: feature %q is missing: the columns read it", key)
	}
	if err := x.check(); err != nil {
		return fmt.Errorf("feature columns: feature %q: %w", key, err)
	}
	c := inputs.Column{Name: key, DType: x.dtype(), Ragged: x.Sparse != nil, Shape: []int{-1}}
	if x.Sparse == nil {
		if n, known := rowSize(x.Dense.Shape()); known {
			c.Shape = []int{n}
		}
	}
	return p.Check(c)
}

// rowSize returns the number of values in a row of that shape.
func rowSize(s graph.Shape) (n int, known bool) {
	n = 1
	for _, d := range s.Dims[1:] {
		if !d.Static() {
			return 0, false
		}
		n *= d.Const
	}
	return n, true
}

// emitter adds the nodes of a plan. What several columns need is added once. Errors
// are recorded in the builder.
type emitter struct {
	b     *graph.Builder
	raw   map[string]Raw
	known map[any]any
	out   *Emission
	scope string // prefix of node names
}

var notInScope = regexp.MustCompile(`[^A-Za-z0-9_.\-]`)

// scope returns a name as part of a node's name.
func scope(name string) string { return notInScope.ReplaceAllString(name, "_") }

// at returns e for the nodes of a column or feature.
func (e *emitter) at(name string) *emitter {
	to := *e
	to.scope = "feature_columns/" + scope(name) + "/"
	return &to
}

// emitOnce returns what f adds, and remembers it under key.
func emitOnce[T any](e *emitter, key any, f func() T) T {
	if v, ok := e.known[key]; ok {
		return v.(T)
	}
	v := f()
	e.known[key] = v
	return v
}

// output adds the nodes of an output.
func (e *emitter) output(o feature.Output) Emitted {
	e = e.at(o.Column.Name())
	switch o.Form {
	case feature.FormDense:
		return Emitted{Dense: e.dense(o.Column)}
	case feature.FormNumberSteps:
		return e.steps(o.Column)
	}
	l := e.ids(o.Column, false)
	switch o.Form {
	case feature.FormIDs, feature.FormWeights:
		l = l.present(false)
	case feature.FormPositiveIDs, feature.FormPositiveWeights:
		l = l.present(true)
	}
	if o.Form == feature.FormWeights || o.Form == feature.FormPositiveWeights {
		return l.emitted(l.weights)
	}
	return l.emitted(l.values)
}
