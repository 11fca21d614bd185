package distribute

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/runtime/device"
	"github.com/goestimator/goestimator/internal/runtime/engine"
	"github.com/goestimator/goestimator/tensor"
)

// layout says which fetches of a gradient program are summed over replicas, and how:
// dense ones element by element, sparse ones by concatenating their rows.
type layout struct {
	fetches []graph.Output // the caller's, then the ones below
	dense   []int          // gradients, updates, and the loss at the end
	sparse  []pair
	grads   [][]place // the lookups of each of the TrainProgram's gradients
	updates []int     // index in dense of each update
	args    []int     // arguments of the step function, which are not summed
}

// pair is a sparse gradient: rows and their ids.
type pair struct{ rows, ids int }

// place is where a gradient, or the part from one lookup, is: at an index of sparse, or
// else of dense.
type place struct {
	sparse  bool
	index   int
	byIndex bool           // see lower.Slices
	ids     *tensor.Tensor // ids of dense rows that are only a part of the table, the same in all replicas
	apart   [][]int        // indices of ids, in lists without duplicate ids
}

// newLayout lays out a program's results. The lookups of a sparse gradient stay separate
// if a clip must see each.
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
		var places []place
		clipped := len(p.Train.Transforms) > 0
		if !clipped {
			g = lower.Join(b, "replica/", g)
		}
		for _, one := range lookupsOf(g) {
			at, err := l.place(b, one, clipped)
			if err != nil {
				return nil, err
			}
			places = append(places, at)
		}
		l.grads = append(l.grads, places)
	}
	for _, u := range p.Updates {
		if d := u.Value.DType(); d != tensor.Float32 && d != tensor.Float64 {
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

// lookupsOf splits a gradient into its lookups; a dense gradient counts as one.
func lookupsOf(g lower.Value) []lower.Value {
	if !g.Sparse() {
		return []lower.Value{g}
	}
	var out []lower.Value
	for _, s := range g.Slices {
		out = append(out, lower.SparseValue(g.Dense, s))
	}
	return out
}

// place lays out the gradient of one lookup. If the number of rows is not proportional to
// the batch, the gradient is made dense. If a clip must see the rows and their indices are
// constants, the rows are summed like a dense gradient.
func (l *layout) place(b *graph.Builder, g lower.Value, clipped bool) (place, error) {
	if !g.Sparse() {
		return place{index: l.addDense(g.Output)}, nil
	}
	s := g.Slices[0]
	if joins(s) {
		l.sparse = append(l.sparse, pair{l.fetch(s.Rows), l.fetch(s.Indices)})
		return place{sparse: true, index: len(l.sparse) - 1, byIndex: s.ByIndex}, nil
	}
	if clipped && !s.ByIndex {
		ids, err := constantOf(b.Graph, s.Indices)
		if err != nil {
			return place{}, err
		}
		if ids != nil {
			return place{index: l.addDense(s.Rows), ids: ids, apart: placesApart(int64s(ids))}, nil
		}
	}
	return place{index: l.addDense(lower.Densify(b, "replica/", g))}, nil
}

// placesApart lists the indices of the first occurrences of ids, of the second ones, and so on.
func placesApart(ids []int64) [][]int {
	var out [][]int
	seen := map[int64]int{}
	for i, id := range ids {
		n := seen[id]
		if seen[id]++; n == len(out) {
			out = append(out, nil)
		}
		out[n] = append(out[n], i)
	}
	return out
}

// constantOf returns the value of an output that depends on no feed or variable, else nil.
func constantOf(g *graph.Graph, o graph.Output) (*tensor.Tensor, error) {
	for n := range reachable([]graph.Output{o}, nil) {
		if n.Op == "Placeholder" || n.Op == "VarHandleOp" {
			return nil, nil
		}
	}
	host := device.NewHost()
	defer host.Close()
	none, err := engine.NewVariables(host)
	if err != nil {
		return nil, err
	}
	defer none.Close()
	p, err := engine.Compile(g, engine.Spec{Fetches: []graph.Output{o}}, host, none, engine.Options{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.Run(context.Background(), 1, nil); err != nil {
		return nil, err
	}
	return p.Value(0).Clone(), nil
}

// joins reports whether the rows of several replicas can be concatenated to one sparse
// value: as many rows as one replica would have for all batches.
func joins(s lower.Slices) bool {
	d := s.Indices.Shape().Dims
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

// types returns the types of the tensors that l.dense fetches.
func (l *layout) types() []graph.Type {
	var out []graph.Type
	for _, i := range l.dense {
		out = append(out, l.fetches[i].Type())
	}
	return out
}
