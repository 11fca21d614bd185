package cluster

import (
	"fmt"
	"slices"

	"github.com/goestimator/goestimator/models"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Graph is an immutable graph for sessions.
type Graph struct {
	def       *graph_go_proto.GraphDef
	variables []variable // of Build
}

// variable is a variable that Build made, with the nodes that set its first value.
type variable struct {
	*models.Variable
	key         uint64 // of its first value
	first       string // the placeholder of its first value
	assign      string // the op that assigns that
	initialized string // the op that reports whether it has a value
	read        string
}

// ReadGraph reads a serialized GraphDef, as from tf.Graph.as_graph_def().SerializeToString(). Servers check it.
func ReadGraph(def []byte) (*Graph, error) {
	g := &Graph{def: &graph_go_proto.GraphDef{}}
	if err := proto.Unmarshal(def, g.def); err != nil {
		return nil, fmt.Errorf("read a graph: expected a serialized GraphDef: %w", err)
	}
	return g, nil
}

// ReadTextGraph reads a GraphDef in text form (.pbtxt).
func ReadTextGraph(text []byte) (*Graph, error) {
	g := &Graph{def: &graph_go_proto.GraphDef{}}
	if err := prototext.Unmarshal(text, g.def); err != nil {
		return nil, fmt.Errorf("read a graph: expected a GraphDef as text: %w", err)
	}
	return g, nil
}

// GraphDef returns the graph as a serialized GraphDef, which tf.import_graph_def accepts.
func (g *Graph) GraphDef() ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(g.def)
}

// Variables lists the variables that Build made, including those of optimizers.
func (g *Graph) Variables() []*models.Variable {
	all := make([]*models.Variable, len(g.variables))
	for i, v := range g.variables {
		all[i] = v.Variable
	}
	return all
}

// with returns a graph with the variables of both, and the nodes of g only: a session sends new nodes separately.
func (g *Graph) with(more *Graph) *Graph {
	return &Graph{def: g.def, variables: append(slices.Clip(g.variables), more.variables...)}
}
