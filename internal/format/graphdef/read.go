package graphdef

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	"google.golang.org/protobuf/proto"
)

// FromGraphDef converts a GraphDef. Nodes keep their order, which need not be
// topological. Errors name the node.
func FromGraphDef(gd *graph_go_proto.GraphDef) (*graph.Graph, error) {
	if gd == nil {
		return nil, errors.New("graphdef: no graph")
	}
	g := graph.New()
	if err := readHeader(g, gd); err != nil {
		return nil, err
	}
	r := &reader{g: g, budget: maxExpanded}
	for i, nd := range gd.GetNode() {
		if nd == nil {
			return nil, fmt.Errorf("graphdef: node %d is missing", i)
		}
		if err := r.node(nd); err != nil {
			return nil, fmt.Errorf("graphdef: node %q (%s): %w", nd.GetName(), nd.GetOp(), err)
		}
	}
	refs := make([]int, len(gd.GetNode()))
	index := make(map[*graph.Node]int, len(refs))
	for i, n := range g.Nodes() {
		index[n] = i
	}
	for i, n := range g.Nodes() {
		if err := r.connect(n, gd.GetNode()[i].GetInput(), func(to *graph.Node, out int) { refs[index[to]] = max(refs[index[to]], out+1) }); err != nil {
			return nil, fmt.Errorf("graphdef: node %q (%s): %w", n.Name, n.Op, err)
		}
	}
	left := maxAllOutputs
	for i, n := range g.Nodes() {
		if err := readOutputs(n, refs[i]); err != nil {
			return nil, fmt.Errorf("graphdef: node %q (%s): %w", n.Name, n.Op, err)
		}
		if left -= len(n.Outputs); left < 0 {
			return nil, fmt.Errorf("graphdef: node %q (%s): the nodes up to here have more than %d outputs", n.Name, n.Op, maxAllOutputs)
		}
	}
	return g, nil
}

// maxOutputs bounds the outputs of one node and maxAllOutputs those of a graph, so
// that a few damaged bytes cannot claim much memory.
const (
	maxOutputs    = 1 << 16
	maxAllOutputs = 1 << 21
)

type reader struct {
	g      *graph.Graph
	budget int // bytes that compressed tensors may still expand to
}

// readHeader reads everything but the nodes.
func readHeader(g *graph.Graph, gd *graph_go_proto.GraphDef) error {
	g.Producer, g.MinConsumer = gd.GetVersions().GetProducer(), gd.GetVersions().GetMinConsumer()
	if gd.GetLibrary() != nil {
		lib, err := proto.MarshalOptions{Deterministic: true}.Marshal(gd.GetLibrary())
		if err != nil {
			return fmt.Errorf("graphdef: function library: %w", err)
		}
		g.Library = append([]byte{}, lib...)
	}
	rest := &graph_go_proto.GraphDef{Version: gd.GetVersion(), DebugInfo: gd.GetDebugInfo(), Versions: gd.GetVersions()}
	rest.ProtoReflect().SetUnknown(gd.ProtoReflect().GetUnknown())
	if proto.Equal(rest, &graph_go_proto.GraphDef{Versions: versions(g)}) {
		return nil
	}
	extra, err := proto.MarshalOptions{Deterministic: true}.Marshal(rest)
	if err != nil {
		return fmt.Errorf("graphdef: header: %w", err)
	}
	g.Extra = extra
	return nil
}

// versions returns the versions in g's own fields, nil if there are none.
func versions(g *graph.Graph) *versions_go_proto.VersionDef {
	if g.Producer == 0 && g.MinConsumer == 0 {
		return nil
	}
	return &versions_go_proto.VersionDef{Producer: g.Producer, MinConsumer: g.MinConsumer}
}

// node adds one node, still without its edges and outputs.
func (r *reader) node(nd *node_def_go_proto.NodeDef) error {
	n := &graph.Node{Name: nd.GetName(), Op: nd.GetOp(), Device: nd.GetDevice()}
	if len(nd.GetAttr()) > 0 {
		n.Attrs = make(graph.Attrs, len(nd.GetAttr()))
	}
	for name, a := range nd.GetAttr() {
		if name == restAttr || strings.HasPrefix(name, encodingPrefix) {
			return fmt.Errorf("attribute %s: the name is reserved", name)
		}
		v, enc, err := r.attr(a)
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		n.Attrs[name] = v
		if enc != "" {
			n.Attrs[encodingPrefix+name] = []byte(enc)
		}
	}
	rest := &node_def_go_proto.NodeDef{ExperimentalDebugInfo: nd.GetExperimentalDebugInfo(), ExperimentalType: nd.GetExperimentalType()}
	rest.ProtoReflect().SetUnknown(nd.ProtoReflect().GetUnknown())
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(rest)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		if n.Attrs == nil {
			n.Attrs = graph.Attrs{}
		}
		n.Attrs[restAttr] = data
	}
	return r.g.Add(n)
}

// connect resolves the names of inputs. It calls refer for each reference to an output.
func (r *reader) connect(n *graph.Node, inputs []string, refer func(*graph.Node, int)) error {
	for i, in := range inputs {
		name, control := strings.CutPrefix(in, "^")
		if !control && len(n.Control) > 0 {
			return fmt.Errorf("input %d, %q, follows a control input: expected control inputs last", i, in)
		}
		out := 0
		if at := strings.LastIndexByte(name, ':'); at >= 0 && !control {
			k, err := strconv.Atoi(name[at+1:])
			if err != nil || k < 0 || k >= maxOutputs {
				return fmt.Errorf("input %d, %q: expected \"node\", \"node:output\" or \"^node\"", i, in)
			}
			name, out = name[:at], k
		}
		from := r.g.Node(name)
		if from == nil {
			return fmt.Errorf("input %d, %q: the graph has no such node", i, in)
		}
		if control {
			n.Control = append(n.Control, from)
			continue
		}
		n.Inputs = append(n.Inputs, from.Out(out))
		refer(from, out)
	}
	return nil
}
