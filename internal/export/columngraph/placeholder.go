package columngraph

import (
	"fmt"

	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Placeholders adds a placeholder for each column of the data. It returns the placeholders, and the raw
// features made from them, by name. A placeholder has the column's name and type, and shape [B] plus the column's
// shape. For a ragged column it is [B, longest row], with rows padded with "" or -1, which
// mean no value; numbers are padded with NaN, weights with anything.
func Placeholders(b *graph.Builder, columns []inputs.Column) (map[string]Raw, map[string]graph.Output, error) {
	raw, feeds := map[string]Raw{}, map[string]graph.Output{}
	e := &emitter{b: b, raw: raw, known: map[any]any{}}
	for _, c := range columns {
		if _, twice := feeds[c.Name]; twice {
			return nil, nil, fmt.Errorf("placeholders of features: column %q is there twice", c.Name)
		}
		shape := graph.BatchOf(c.Shape...)
		if c.Ragged {
			shape = graph.Shape{Dims: []graph.Dim{graph.Batch, graph.Unknown}}
		}
		x := b.Placeholder(nodeName(c.Name), graph.Type{DType: c.DType, Shape: shape})
		feeds[c.Name], raw[c.Name] = x, Raw{Dense: x}
		if t := (feature.ExampleSpec{DType: c.DType}).Type(); c.Ragged && (t == tensor.String || t == tensor.Int64) {
			l, _ := e.tokens(c.Name, false)
			raw[c.Name] = Raw{Sparse: &SparseTensor{Indices: l.indices, Values: l.values, DenseShape: l.shape}}
		}
	}
	if err := b.Err(); err != nil {
		return nil, nil, fmt.Errorf("placeholders of features: %w", err)
	}
	return raw, feeds, nil
}

// nodeName returns a feature's name as a node name, which begins with a letter, a digit or a dot.
func nodeName(name string) string {
	name = scope(name)
	if name == "" || name[0] == '_' || name[0] == '-' {
		return "x" + name
	}
	return name
}
