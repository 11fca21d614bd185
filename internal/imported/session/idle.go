package session

import (
	"strconv"
	"strings"

	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// dropIdle makes NoOps of assignments that give variables what they have: exports of Keras's JAX backend write all variables that are
// not trained back with each request, and would be computed op by op. A variable that anything else may change keeps its assignments;
// what restores it comes before requests, and does not count.
func dropIdle(flat *graph_go_proto.GraphDef) {
	t := tracer{}
	for _, n := range flat.GetNode() {
		t[n.GetName()] = n
	}
	idle, busy := map[string][]int{}, map[string]bool{}
	for i, n := range flat.GetNode() {
		for k, in := range n.GetInput() {
			variable, _ := t.source(in)
			if variable.GetOp() != "VarHandleOp" {
				continue
			}
			switch use := t.use(n, k, variable); {
			case use == idleUse:
				idle[variable.GetName()] = append(idle[variable.GetName()], i)
			case use == otherUse:
				busy[variable.GetName()] = true
			}
		}
	}
	for name, all := range idle {
		for _, i := range all {
			if !busy[name] {
				flat.Node[i] = afterwards(flat.Node[i])
			}
		}
	}
}

// use is what a node does with a variable.
type use uint8

const (
	readUse  use = iota // or passes it on, or restores it
	idleUse             // assigns what it has
	otherUse            // may change it
)

// use returns what a node does with the variable that is its input k.
func (t tracer) use(n *node_def_go_proto.NodeDef, k int, variable *node_def_go_proto.NodeDef) use {
	switch n.GetOp() {
	case "Identity", "IdentityN", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp":
		return readUse
	case "AssignVariableOp":
		if k != 0 || len(n.GetInput()) < 2 {
			break
		}
		switch value, _ := t.source(n.GetInput()[1]); {
		case value.GetOp() == "RestoreV2":
			return readUse
		case value.GetOp() == "ReadVariableOp" && t.reads(value, variable):
			return idleUse
		}
	}
	return otherUse
}

// afterwards is a node of the same name that does nothing, after what the node came after.
func afterwards(n *node_def_go_proto.NodeDef) *node_def_go_proto.NodeDef {
	after := []string{"^" + nodeOf(n.GetInput()[1])}
	for _, in := range n.GetInput()[2:] {
		if strings.HasPrefix(in, "^") {
			after = append(after, in)
		}
	}
	return &node_def_go_proto.NodeDef{Name: n.GetName(), Op: "NoOp", Device: n.GetDevice(), Input: after}
}

// tracer are the nodes of a graph by name.
type tracer map[string]*node_def_go_proto.NodeDef

// source follows an input through nodes that pass it on, and returns the node that it comes from and which of its outputs it is.
func (t tracer) source(input string) (n *node_def_go_proto.NodeDef, output int) {
	for range t {
		name, index, _ := strings.Cut(input, ":")
		output, _ = strconv.Atoi(index)
		if n = t[name]; n == nil {
			return nil, 0
		}
		switch n.GetOp() {
		case "Identity", "EnsureShape":
			output = 0
		case "IdentityN":
		default:
			return n, output
		}
		if output >= len(n.GetInput()) {
			return nil, 0
		}
		input = n.GetInput()[output]
	}
	return nil, 0
}

// reads reports whether a node reads that variable.
func (t tracer) reads(n, variable *node_def_go_proto.NodeDef) bool {
	if len(n.GetInput()) == 0 {
		return false
	}
	of, _ := t.source(n.GetInput()[0])
	return of == variable
}

// nodeOf is the name of the node of an input.
func nodeOf(input string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(input, "^"), ":")
	return name
}
