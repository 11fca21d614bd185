package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/dataflow"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"
)

// returnOf runs a graph that is an input of a node, and returns the input of its only _Retval node. The graph may not contain further
// graphs: one that makes its own text would never end.
func returnOf(ctx context.Context, env *eager.Env, def []byte) (v eager.Value, err error) {
	gd := &graph_go_proto.GraphDef{}
	if err := proto.Unmarshal(def, gd); err != nil {
		return v, fmt.Errorf("graph_def: %w", err)
	}
	var end []string
	for _, n := range gd.GetNode() {
		if n.GetOp() == "_Retval" {
			end = append(end, n.GetName())
		}
	}
	if len(end) != 1 {
		return v, fmt.Errorf("graph_def: expected one node of op _Retval, got %d", len(end))
	}
	if err := ownState(gd.GetNode()); err != nil {
		return v, fmt.Errorf("graph_def: %w", err)
	}
	flat, err := inline.Flatten(gd, end)
	if err != nil {
		return v, fmt.Errorf("graph_def: %w", err)
	}
	for _, n := range flat.GetNode() { // an unknown op has an output unless it says otherwise
		if n.GetOp() == "_Retval" {
			n.Attr["_output_shapes"] = &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_List{List: &attr_value_go_proto.AttrValue_ListValue{}}}
		}
	}
	r, err := prepare(flat, &eager.Generators{})
	if err != nil {
		return v, fmt.Errorf("graph_def: %w", err)
	}
	inner := *env
	inner.Functions, inner.Graph = r.functions, nil
	results := make([]eager.Value, 1)
	err = r.program.Run(ctx, dataflow.Step{Env: &inner, Rendezvous: nowhere{}, Parallel: 1, Results: results})
	return results[0], errors.Join(err, r.regions.Close())
}

// ownState replaces handles to state that a dataset keeps in the process that described it.
func ownState(nodes []*node_def_go_proto.NodeDef) error {
	for _, n := range nodes {
		t := n.GetAttr()["value"].GetTensor()
		if n.GetOp() != "Const" || t.GetDtype() != types_go_proto.DataType_DT_RESOURCE {
			continue
		}
		kind := "" // C++'s name of the type
		for _, h := range t.GetResourceHandleVal() {
			kind = h.GetMaybeTypeName()
		}
		switch {
		case strings.Contains(kind, "SeedGenerator"):
			n.Op = "DummySeedGenerator"
		case strings.Contains(kind, "MemoryCache"):
			n.Op = "DummyMemoryCache"
		default:
			return fmt.Errorf("node %q is a resource of type %q of another process: only orders and caches are made anew", n.GetName(), kind)
		}
		n.Attr = nil
	}
	return nil
}

// nowhere is the rendezvous of graphs without communication.
type nowhere struct{}

var errNowhere = errors.New("a graph that is an input of a node cannot send or receive")

// Send implements dataflow.Rendezvous.
func (nowhere) Send(rendezvous.Key, rendezvous.Item) error { return errNowhere }

// Recv implements dataflow.Rendezvous.
func (nowhere) Recv(context.Context, rendezvous.Key) (rendezvous.Item, error) {
	return rendezvous.Item{}, errNowhere
}
