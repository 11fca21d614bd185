package lower_test

import (
	"testing"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/lower"
	"github.com/goestimator/goestimator/tensor"
)

// TestNumberedBy: NumberedBy finds the numbers that RowNumbers makes of the offsets, and nothing else.
func TestNumberedBy(t *testing.T) {
	b := graph.NewBuilder(graph.New())
	flat := graph.Shape{Dims: []graph.Dim{{PerBatch: 4}}}
	offsets := b.Placeholder("offsets", graph.Type{DType: tensor.Int64, Shape: graph.Shape{Dims: []graph.Dim{{PerBatch: 1, Const: 1}}}})
	others := b.Placeholder("others", offsets.Type())
	first := lower.RowNumbers(b, "first", b.Placeholder("ids", graph.Type{DType: tensor.Int64, Shape: flat}), offsets)
	second := lower.RowNumbers(b, "second", b.Placeholder("more", graph.Type{DType: tensor.Int64, Shape: flat}), offsets)
	lower.RowNumbers(b, "third", b.Placeholder("else", graph.Type{DType: tensor.Int64, Shape: flat}), others)
	b.Op("Neg", "neg", offsets.Type(), graph.Attrs{"T": tensor.Int64}, offsets)
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	found := lower.NumberedBy(b.Graph, offsets)
	if len(found) != 2 || found[0] != first.Node.Inputs[1] || found[1] != second.Node.Inputs[1] {
		t.Errorf("found %v, expected what %v and %v choose", found, first, second)
	}
}
