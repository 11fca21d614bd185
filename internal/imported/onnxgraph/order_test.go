package onnxgraph

import (
	"slices"
	"testing"

	"github.com/goestimator/goestimator/internal/format/onnx"
)

// TestNodesInOrder: nodes come after the nodes that make their inputs, including inputs of subgraphs, and otherwise stay in place.
func TestNodesInOrder(t *testing.T) {
	inner := &onnx.Graph{Nodes: []onnx.Node{node("Neg", "", []string{"late"}, []string{"own"}, nil)}, Outputs: []onnx.Value{{Name: "own"}}}
	branch := onnx.Node{Op: "If", Name: "if", Inputs: []string{"c"}, Outputs: []string{"d"}, Attrs: map[string]any{"then_branch": inner, "else_branch": inner}}
	for name, c := range map[string]struct {
		nodes []onnx.Node
		want  []string
	}{
		"in order":  {[]onnx.Node{node("A", "a", []string{"x"}, []string{"1"}, nil), node("B", "b", []string{"x"}, []string{"2"}, nil), node("C", "c", []string{"1", "2"}, []string{"y"}, nil)}, []string{"a", "b", "c"}},
		"backwards": {[]onnx.Node{node("C", "c", []string{"2", "1"}, []string{"y"}, nil), node("B", "b", []string{"1"}, []string{"2"}, nil), node("A", "a", []string{"x"}, []string{"1"}, nil)}, []string{"a", "b", "c"}},
		"behind":    {[]onnx.Node{node("C", "c", []string{"1", ""}, []string{"y"}, nil), node("B", "b", []string{"x"}, []string{"2"}, nil), node("A", "a", []string{"x"}, []string{"1"}, nil)}, []string{"b", "a", "c"}},
		"a graph":   {[]onnx.Node{branch, node("A", "a", []string{"x"}, []string{"late", "own"}, nil)}, []string{"a", "if"}},
		"a circle":  {[]onnx.Node{node("A", "a", []string{"2"}, []string{"1"}, nil), node("B", "b", []string{"1"}, []string{"2"}, nil), node("C", "c", []string{"x"}, []string{"y"}, nil)}, []string{"c", "a", "b"}},
		"itself":    {[]onnx.Node{node("A", "a", []string{"1"}, []string{"1"}, nil)}, []string{"a"}},
	} {
		var got []string
		for _, n := range newOrders().of(c.nodes) {
			got = append(got, n.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, expected %v", name, got, c.want)
		}
	}
}

// TestOrdersAreFoundOnce: functions that are called often, and deeply nested graphs, are examined once.
func TestOrdersAreFoundOnce(t *testing.T) {
	inner := &onnx.Graph{Nodes: []onnx.Node{node("Neg", "", []string{"late"}, []string{"own"}, nil)}, Outputs: []onnx.Value{{Name: "own"}, {Name: "late"}}}
	for range 3 {
		inner = &onnx.Graph{Inputs: []onnx.Value{{Name: "own"}}, Nodes: []onnx.Node{node("If", "", []string{"c", "late"}, []string{"d"}, map[string]any{"then_branch": inner, "else_branch": inner})}}
	}
	nodes := []onnx.Node{node("If", "if", []string{"c"}, []string{"d"}, map[string]any{"then_branch": inner, "else_branch": inner}), node("A", "a", []string{"x"}, []string{"late"}, nil)}
	r := newOrders()
	first, second := r.of(nodes), r.of(nodes)
	if first[0].Name != "a" || &first[0] != &second[0] {
		t.Errorf("got %q first: expected a, and the same nodes both times", first[0].Name)
	}
	if got := r.outside[inner]; !slices.Equal(got, []string{"c", "late"}) {
		t.Errorf("a graph takes %q: expected c and late", got)
	}
	if len(r.outside) != 4 {
		t.Errorf("%d graphs: expected 4", len(r.outside))
	}
}
