package eagerservice

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// op is a prepared graph with a single op.
type op struct {
	graph   *worker.Graph
	outputs int
}

// maxOpKey is the largest size of attributes, in bytes, of ops that are cached.
const maxOpKey = 1 << 12

// op prepares an op, or finds one with the same attributes that ran before.
func (c *clientContext) op(ctx context.Context, in *rpcs.Operation, args []argument) (*op, error) {
	nodes := make([]*node_def_go_proto.NodeDef, 0, len(args)+1)
	def := &node_def_go_proto.NodeDef{Name: "op", Op: in.GetName(), Attr: in.GetAttrs()}
	for i, a := range args {
		nodes = append(nodes, argNode(fmt.Sprintf("arg_%d", i), i, a.dtype()))
		def.Input = append(def.Input, nodes[i].Name)
	}
	nodes = append(nodes, def)
	library := &function_go_proto.FunctionDefLibrary{}
	if hasFunctions(in.GetAttrs()) {
		library = c.functions.library(registered{def: &function_go_proto.FunctionDef{NodeDef: nodes}})
		library.Function = library.Function[1:]
	}
	gd := &graph_go_proto.GraphDef{Node: nodes, Library: library}
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(gd)
	if err != nil {
		return nil, err
	}
	if len(key) > maxOpKey {
		return prepareOp(gd)
	}
	return c.graphs.get(ctx, string(key), func() (*op, error) { return prepareOp(gd) })
}

func hasFunctions(attrs map[string]*attr_value_go_proto.AttrValue) (has bool) {
	calledBy(attrs, func(string) { has = true })
	return has
}

// argNode is a node that outputs an argument.
func argNode(name string, index int, t tensor.DType) *node_def_go_proto.NodeDef {
	return &node_def_go_proto.NodeDef{Name: name, Op: "_Arg", Attr: map[string]*attr_value_go_proto.AttrValue{
		"T":     {Value: &attr_value_go_proto.AttrValue_Type{Type: types_go_proto.DataType(t)}},
		"index": {Value: &attr_value_go_proto.AttrValue_I{I: int64(index)}},
	}}
}

// prepareOp prepares a graph with the node "op" for running.
func prepareOp(gd *graph_go_proto.GraphDef) (*op, error) {
	flat, err := inline.Flatten(gd, []string{"op"})
	if err != nil {
		return nil, err
	}
	g, err := graphdef.FromGraphDef(flat)
	if err != nil {
		return nil, err
	}
	n := g.Node("op")
	count := len(n.Outputs)
	switch n.Op {
	case "_Send", "_HostSend":
		count = 0
	case "_Recv", "_HostRecv":
	default:
		if count, err = eager.Outputs(n); err != nil {
			return nil, err
		}
	}
	for len(n.Outputs) < count {
		n.Outputs = append(n.Outputs, graph.Type{Shape: graph.Shape{UnknownRank: true}})
	}
	n.Outputs = n.Outputs[:count]
	for i := range count {
		if err := addRetval(g, n.Out(i), i, ""); err != nil {
			return nil, err
		}
	}
	o := &op{outputs: count}
	o.graph, err = prepareGraph(g)
	return o, err
}

// addRetval adds a node that takes a result.
func addRetval(g *graph.Graph, from graph.Output, index int, device string) error {
	return g.Add(&graph.Node{Name: retvalName(g, index), Op: "_Retval", Device: device, Inputs: []graph.Output{from}, Attrs: graph.Attrs{"T": from.DType(), "index": int64(index)}})
}

func retvalName(g *graph.Graph, index int) string {
	return g.UniqueName(fmt.Sprintf("_retval_%d", index))
}

func prepareGraph(g *graph.Graph) (*worker.Graph, error) {
	gd, err := graphdef.ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	return worker.Prepare(gd)
}
