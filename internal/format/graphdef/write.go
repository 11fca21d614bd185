package graphdef

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	"google.golang.org/protobuf/proto"
)

// ToGraphDef converts a graph; nodes keep their order. The result shares strings
// and lists with g. Errors name the node.
func ToGraphDef(g *graph.Graph) (*graph_go_proto.GraphDef, error) {
	gd := &graph_go_proto.GraphDef{}
	if err := writeHeader(gd, g); err != nil {
		return nil, err
	}
	refs := map[*graph.Node]int{}
	for _, n := range g.Nodes() {
		for _, in := range n.Inputs {
			refs[in.Node] = max(refs[in.Node], in.Index+1)
		}
	}
	for _, n := range g.Nodes() {
		nd, err := writeNode(n, refs[n])
		if err != nil {
			return nil, fmt.Errorf("graphdef: node %q (%s): %w", n.Name, n.Op, err)
		}
		gd.Node = append(gd.Node, nd)
	}
	return gd, nil
}

func writeHeader(gd *graph_go_proto.GraphDef, g *graph.Graph) error {
	gd.Versions = versions(g)
	if len(g.Extra) > 0 {
		gd.Versions = nil
		if err := proto.Unmarshal(g.Extra, gd); err != nil {
			return fmt.Errorf("graphdef: what came with the graph: %w", err)
		}
		if v := versions(g); v != nil && gd.Versions == nil {
			gd.Versions = &versions_go_proto.VersionDef{}
		}
		if gd.Versions != nil {
			gd.Versions.Producer, gd.Versions.MinConsumer = g.Producer, g.MinConsumer
		}
	}
	if g.Library != nil {
		gd.Library = &function_go_proto.FunctionDefLibrary{}
		if err := proto.Unmarshal(g.Library, gd.Library); err != nil {
			return fmt.Errorf("graphdef: function library: %w", err)
		}
	}
	return nil
}

func writeNode(n *graph.Node, refs int) (*node_def_go_proto.NodeDef, error) {
	nd := &node_def_go_proto.NodeDef{}
	if rest, ok := n.Attrs[restAttr].([]byte); ok {
		if err := proto.Unmarshal(rest, nd); err != nil {
			return nil, fmt.Errorf("attribute %s: %w", restAttr, err)
		}
	}
	nd.Name, nd.Op, nd.Device = n.Name, n.Op, n.Device
	for i, in := range n.Inputs {
		if !in.Valid() || in.Index >= len(in.Node.Outputs) {
			return nil, fmt.Errorf("input %d is %v: expected an output of a node", i, in)
		}
		ref := in.Node.Name
		if in.Index > 0 {
			ref += ":" + strconv.Itoa(in.Index)
		}
		nd.Input = append(nd.Input, ref)
	}
	for _, c := range n.Control {
		nd.Input = append(nd.Input, "^"+c.Name)
	}
	nd.Attr = make(map[string]*attr_value_go_proto.AttrValue, len(n.Attrs)+1)
	if err := errors.Join(writeAttrs(nd.Attr, n), writeOutputs(nd.Attr, n, refs)); err != nil {
		return nil, err
	}
	if len(nd.Attr) == 0 {
		nd.Attr = nil
	}
	return nd, nil
}

func writeAttrs(to map[string]*attr_value_go_proto.AttrValue, n *graph.Node) error {
	for name, v := range n.Attrs {
		if name == restAttr || strings.HasPrefix(name, encodingPrefix) {
			continue
		}
		enc, _ := n.Attrs[encodingPrefix+name].([]byte)
		a, err := writeAttr(v, string(enc))
		if err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
		to[name] = a
		switch s := v.(type) {
		case graph.Shape:
			if _, symbolic := writeShape(s); symbolic {
				if to[dimsPrefix+name], err = writeAttr([]byte(s.String()), ""); err != nil {
					return err
				}
			}
		case []graph.Shape:
			if i := slices.IndexFunc(s, func(s graph.Shape) bool { _, symbolic := writeShape(s); return symbolic }); i >= 0 {
				return fmt.Errorf("attribute %s: shape %d, %v, depends on the batch: expected fixed shapes in a list", name, i, s[i])
			}
		}
	}
	return nil
}

// writeOutputs states the types and shapes of the outputs if op and attributes do not.
func writeOutputs(to map[string]*attr_value_go_proto.AttrValue, n *graph.Node, refs int) error {
	add := func(name string, v any) (err error) {
		to[name], err = writeAttr(v, "")
		return err
	}
	var failed []error
	if differs(n, refs) {
		var shapes any = graph.EmptyList{}
		if len(n.Outputs) > 0 {
			list, texts, symbolic := make([]graph.Shape, len(n.Outputs)), make([][]byte, len(n.Outputs)), false
			for i, o := range n.Outputs {
				_, s := writeShape(o.Shape)
				symbolic = symbolic || s
				list[i], texts[i] = o.Shape, []byte(o.Shape.String())
			}
			shapes = list
			if symbolic {
				failed = append(failed, add(dimsAttr, texts))
			}
		}
		failed = append(failed, add(shapesAttr, shapes))
		if ops.Find(n.Op) == nil {
			refs = len(n.Outputs)
		}
	}
	own, err := infer(n, refs)
	if err != nil || !slices.EqualFunc(own, n.Outputs, func(a, b graph.Type) bool { return a.DType == b.DType }) {
		var types any = graph.EmptyList{}
		if len(n.Outputs) > 0 {
			list := make([]tensor.DType, len(n.Outputs))
			for i, o := range n.Outputs {
				list[i] = o.DType
			}
			types = list
		}
		failed = append(failed, add(typesAttr, types))
	}
	return errors.Join(failed...)
}
