package looptest

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/tensor"
)

// Graph is a graph of scalars.
type Graph struct {
	*graph.Graph
	// Device returns the device of the next node; nil: none.
	Device func() string
	names  int
}

// New returns an empty Graph.
func New() *Graph { return &Graph{Graph: graph.New()} }

// Node adds a node with that many outputs. Their types follow from the op and the first input.
func (g *Graph) Node(op string, attrs graph.Attrs, outputs int, in ...graph.Output) *graph.Node {
	g.names++
	n := &graph.Node{Name: fmt.Sprintf("%s_%d", strings.TrimPrefix(op, "_"), g.names), Op: op, Attrs: attrs, Inputs: in}
	if g.Device != nil {
		n.Device = g.Device()
	}
	t := tensor.Float32
	switch {
	case op == "Less":
		t = tensor.Bool
	case len(in) > 0 && in[0].Index < len(in[0].Node.Outputs):
		t = in[0].DType()
	}
	for range outputs {
		n.Outputs = append(n.Outputs, graph.TypeOf(t))
	}
	if op == "Merge" && outputs > 1 {
		n.Outputs[1] = graph.TypeOf(tensor.Int32)
	}
	if err := g.Add(n); err != nil {
		panic(err)
	}
	return n
}

// Op adds a node with one output and element type float32.
func (g *Graph) Op(op string, in ...graph.Output) graph.Output {
	return g.Node(op, graph.Attrs{"T": tensor.Float32}, 1, in...).Out(0)
}

// Value adds a constant.
func (g *Graph) Value(v float32) graph.Output {
	return g.Node("Const", graph.Attrs{"value": tensor.Scalar(v), "dtype": tensor.Float32}, 1).Out(0)
}

// Send adds a node that sends a value.
func (g *Graph) Send(edge string, v graph.Output) {
	g.Node("_Send", graph.Attrs{"tensor_name": []byte(edge)}, 0, v)
}
