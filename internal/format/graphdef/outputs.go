package graphdef

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
)

// infer returns the outputs of a node whose Attrs are set, with the shapes that
// follow from op and attributes alone; refs is the number of outputs referred to.
// An op without a definition has that many outputs, at least one.
func infer(n *graph.Node, refs int) ([]graph.Type, error) {
	var types []tensor.DType
	op := ops.Find(n.Op)
	if op == nil {
		d := unknownType(n)
		for range max(refs, 1) {
			types = append(types, d)
		}
		return shaped(n, types), nil
	}
	for _, o := range op.Outputs() {
		if o.List {
			list, _ := n.Attrs[o.TypeAttr].([]tensor.DType)
			types = append(types, list...)
			continue
		}
		d, count := o.Type, 1
		if o.TypeAttr != "" {
			d, _ = n.Attrs[o.TypeAttr].(tensor.DType)
		}
		if o.Count != "" {
			count = n.Int(o.Count, 0)
		}
		if count < 0 || count > maxOutputs {
			return nil, fmt.Errorf("attribute %s is %d: expected 0 to %d outputs", o.Count, count, maxOutputs)
		}
		for range count {
			types = append(types, d)
		}
	}
	return shaped(n, types), nil
}

// shaped returns the outputs of a node with the shapes that its attributes state.
func shaped(n *graph.Node, types []tensor.DType) []graph.Type {
	out := make([]graph.Type, len(types))
	for i, d := range types {
		out[i] = graph.Type{DType: d, Shape: graph.Shape{UnknownRank: true}}
	}
	if len(out) == 1 {
		out[0].Shape = ownShape(n)
	}
	return out
}

func unknownType(n *graph.Node) tensor.DType {
	for _, name := range []string{"T", "dtype"} {
		if d, ok := n.Attrs[name].(tensor.DType); ok {
			return d
		}
	}
	return tensor.Invalid
}

// ownShape returns the shape that an op's attributes state.
func ownShape(n *graph.Node) graph.Shape {
	switch n.Op {
	case "Const":
		if t, ok := n.Attrs["value"].(*tensor.Tensor); ok {
			return graph.ShapeOf(t.Shape...)
		}
	case "Placeholder":
		if s, ok := n.Attrs["shape"].(graph.Shape); ok {
			return s
		}
	case "VarHandleOp":
		return graph.Shape{}
	}
	return graph.Shape{UnknownRank: true}
}
