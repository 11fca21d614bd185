package export

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/attention"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// portable rewrites the nodes of a graph that only this project's engine runs, so
// that TensorFlow runs them on a CPU. It fails for an op that TensorFlow does not have.
func portable(e emitter) error {
	if err := attention.Expand(e.Builder); err != nil {
		return err
	}
	for _, n := range e.Graph.Nodes() {
		if n.Op == graph.SumByIndex {
			rows, indices := e.once(n.Name, n.Inputs[0], n.Inputs[1])
			replace(usersOf(e.Graph, n.Out(0)), n.Out(0), rows)
			replace(usersOf(e.Graph, n.Out(1)), n.Out(1), indices)
			continue
		}
		if strings.HasPrefix(n.Op, "_") {
			return fmt.Errorf("node %s is an internal op, %s, which TensorFlow lacks: it cannot be exported", n.Name, n.Op)
		}
		if n.Op == "GatherV2" && n.Bool(graph.NegativeGivesZeros) {
			padded(e, n)
		}
		for name := range n.Attrs {
			if private(name) {
				delete(n.Attrs, name)
			}
		}
	}
	return e.Err()
}

// private reports whether an attribute is only for this project's engine.
func private(name string) bool { return strings.HasPrefix(name, "_") }

// padded converts a gather whose negative indices give zeros to an ordinary one,
// since TensorFlow refuses negative indices. It reads row 0 instead and selects zeros.
func padded(e emitter, n *graph.Node) {
	x, at := n.Inputs[0], n.Inputs[1]
	gathered := n.Out(0)
	users := usersOf(e.Graph, gathered)
	zero := e.Scalar(n.Name+"/zero", at.DType(), 0)
	n.Inputs[1] = e.like("Maximum", n.Name+"/row", at.DType(), at, zero)
	there := e.Op("GreaterEqual", n.Name+"/there", graph.Type{DType: tensor.Bool, Shape: at.Shape()}, graph.Attrs{"T": at.DType()}, at, zero)
	for i := range x.Shape().Rank() - 1 {
		shape := graph.Shape{Dims: append(append([]graph.Dim(nil), there.Shape().Dims...), graph.Fixed(1))}
		there = e.Op("ExpandDims", fmt.Sprintf("%s/there/%d", n.Name, i), graph.Type{DType: tensor.Bool, Shape: shape},
			graph.Attrs{"T": tensor.Bool, "Tdim": tensor.Int32}, there, e.Scalar(fmt.Sprintf("%s/dim/%d", n.Name, i), tensor.Int32, -1))
	}
	none := e.Scalar(n.Name+"/none", x.DType(), 0)
	replace(users, gathered, e.choose(n.Name+"/padded", there, gathered, none))
}

// usersOf returns the nodes with x as an input.
func usersOf(g *graph.Graph, x graph.Output) []*graph.Node {
	var out []*graph.Node
	for _, n := range g.Nodes() {
		for _, in := range n.Inputs {
			if in == x {
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// replace replaces the operand old of its users.
func replace(users []*graph.Node, old, by graph.Output) {
	for _, n := range users {
		for i := range n.Inputs {
			if n.Inputs[i] == old {
				n.Inputs[i] = by
			}
		}
	}
}
