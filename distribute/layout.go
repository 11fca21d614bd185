package distribute

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/graph"
	"github.com/goestimator/goestimator/internal/lower"
)

// layout says which fetches of a gradient program are summed over replicas, and
// how: dense ones element by element, sparse ones by joining their rows.
type layout struct {
	fetches []graph.Output // the caller's, then those below
	dense   []int          // gradients, updates, and last the loss
	sparse  []pair
	grads   []place // in the order of the TrainProgram's gradients
	updates []int   // of dense, in the order of the updates
	args    []int   // of the step function; they are not summed
}

// pair is a sparse gradient: rows and the ids that they belong to.
type pair struct{ rows, ids int }

// place is where a gradient lies: at an index of sparse, or else of dense.
type place struct {
	sparse bool
	index  int
}

// newLayout lays out a program's results. Sparse gradients whose number of rows
// is not proportional to the batch are made dense.
func newLayout(p TrainProgram) (*layout, error) {
	if !p.Loss.Valid() {
		return nil, fmt.Errorf("train program: expected a loss")
	}
	if p.Train.Step != nil && len(p.Updates) > 0 {
		return nil, fmt.Errorf("update of %s beside step function %q: the function changes variables by itself, let it do this too", p.Updates[0].Variable, p.Train.Step.Function)
	}
	l := &layout{fetches: p.Fetches[:len(p.Fetches):len(p.Fetches)]}
	b := graph.NewBuilder(p.Graph)
	for _, g := range p.Gradients {
		if g.Sparse() && joins(g) {
			l.grads = append(l.grads, place{sparse: true, index: len(l.sparse)})
			l.sparse = append(l.sparse, pair{l.fetch(g.Output), l.fetch(g.Indices)})
			continue
		}
		l.grads = append(l.grads, place{index: l.addDense(lower.Densify(b, "replica/", g))})
	}
	for _, u := range p.Updates {
		if d := u.Value.DType(); d != graph.Float32 && d != graph.Float64 {
			return nil, fmt.Errorf("update of %s: %v has no mean over replicas: expected float32 or float64", u.Variable, d)
		}
		l.updates = append(l.updates, l.addDense(u.Value))
	}
	l.addDense(p.Loss)
	for _, a := range p.Args {
		l.args = append(l.args, l.fetch(a))
	}
	return l, b.Err()
}

// joins reports whether the rows of several replicas make one sparse value: as
// many as those of one replica with all their batches.
func joins(g lower.Value) bool {
	d := g.Indices.Shape().Dims
	return len(d) == 1 && d[0].PerBatch > 0 && d[0].Const == 0
}

func (l *layout) fetch(o graph.Output) int {
	l.fetches = append(l.fetches, o)
	return len(l.fetches) - 1
}

func (l *layout) addDense(o graph.Output) int {
	l.dense = append(l.dense, l.fetch(o))
	return len(l.dense) - 1
}

// types are those of the tensors that l.dense fetches.
func (l *layout) types() []graph.Type {
	var out []graph.Type
	for _, i := range l.dense {
		out = append(out, l.fetches[i].Type())
	}
	return out
}
