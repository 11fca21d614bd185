package export

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/internal/export/columngraph"
	"github.com/goestimator/goestimator/tensor"
)

// feed adds the serving input, which replaces the
// placeholders that are in use.
func (a *assembly) feed() error {
	used := graph.Reachable(a.roots()...)
	var feeds []Feed
	for _, f := range a.feeds {
		if used[f.Values.Node] || f.Offsets.Valid() && used[f.Offsets.Node] {
			feeds = append(feeds, f)
		}
	}
	w, err := a.wants(feeds)
	if err != nil {
		return err
	}
	raw, err := a.serve(w)
	if err != nil {
		return err
	}
	made, err := a.emitColumns(raw)
	if err != nil {
		return err
	}
	for _, f := range feeds {
		name := f.Column.Name
		by, ok := made[name]
		if w.plain[name] {
			by, ok = a.plain(f, raw[name]), true
		}
		if !ok {
			return fmt.Errorf("column %q: the feature columns do not make it", name)
		}
		if by.Offsets.Valid() != f.Offsets.Valid() {
			return fmt.Errorf("column %q: the graph and the serving input do not agree whether it is ragged", name)
		}
		a.connect(f, by)
	}
	return a.Err()
}

// emitColumns adds the nodes of the feature columns and returns their results.
func (a *assembly) emitColumns(raw map[string]columngraph.Raw) (map[string]columngraph.Emitted, error) {
	if a.columns == nil {
		return nil, nil
	}
	em, err := columngraph.Emit(a.columns, a.Builder, raw)
	if err != nil {
		return nil, err
	}
	a.init, a.assets = append(a.init, em.Init...), append(a.assets, em.Assets...)
	return em.Outputs, nil
}

// plain returns a feature in the form that a feed takes.
func (a *assembly) plain(f Feed, r columngraph.Raw) columngraph.Emitted {
	if !f.Offsets.Valid() {
		return columngraph.Emitted{Dense: r.Dense}
	}
	values, offsets := a.listed("fed/"+f.Column.Name, r)
	return columngraph.Emitted{Values: values, Offsets: offsets}
}

// connect replaces a feed's placeholders by a served feature.
func (a *assembly) connect(f Feed, by columngraph.Emitted) {
	name := "fed/" + f.Column.Name
	if !f.Offsets.Valid() {
		a.swap(f.Values, a.shaped(name, a.cast(name+"/cast", by.Dense, f.Values.DType()), f.Values.Shape()))
		return
	}
	offsets := a.cast(name+"/offsets/cast", by.Offsets, f.Offsets.DType())
	if f.Length > 0 {
		offsets = a.atMost(name, offsets, f)
	}
	if by.Rows.Valid() {
		a.direct(f, by)
	}
	a.swap(f.Values, a.cast(name+"/cast", by.Values, f.Values.DType()))
	a.swap(f.Offsets, offsets)
}

// direct gives the graph the rows of values, and their number, if it would otherwise
// compute them from offsets that were computed from them: half of the nodes between examples and tables.
func (a *assembly) direct(f Feed, by columngraph.Emitted) {
	name := "fed/" + f.Column.Name
	for _, numbers := range lower.NumberedBy(a.Graph, f.Offsets) {
		a.swap(numbers, a.cast(name+"/rows", by.Rows, numbers.DType()))
	}
	for _, n := range usersOf(a.Graph, f.Offsets) {
		if n.Op == "Size" {
			a.swap(n.Out(0), a.cast(name+"/bounds", by.Bounds, n.Out(0).DType()))
		}
	}
}

func (a *assembly) swap(old, by graph.Output) { replace(usersOf(a.Graph, old), old, by) }

// shaped reshapes the rows of x if they do not have the wanted shape.
func (a *assembly) shaped(name string, x graph.Output, want graph.Shape) graph.Output {
	if !x.Valid() || want.Equal(x.Shape()) {
		return x
	}
	target := make([]int32, want.Rank())
	for i, d := range want.Dims {
		target[i] = int32(d.Const)
		if !d.Static() {
			target[i] = -1
		}
	}
	return a.Op("Reshape", name+"/reshape", graph.Type{DType: x.DType(), Shape: want}, graph.Attrs{"T": x.DType(), "Tshape": tensor.Int32},
		x, a.ints(name+"/shape", target...))
}
