package session

import (
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
)

// dropIdle replaces assignments of a variable's own value by NoOps: exports of Keras's JAX backend write all non-trainable variables
// back with each request, and would run op by op. If anything else may change a variable, its assignments stay; restoring it
// happens before requests, and does not count.
func dropIdle(flat *graph_go_proto.GraphDef) {
	t := &tracer{nodes: map[string]*node_def_go_proto.NodeDef{}, known: map[string]*node_def_go_proto.NodeDef{}}
	for _, n := range flat.GetNode() {
		t.nodes[n.GetName()] = n
	}
	idle, busy := map[string][]int{}, map[string]bool{}
	for i, n := range flat.GetNode() {
		for k, in := range n.GetInput() {
			variable := t.variable(in)
			if variable == "" {
				continue
			}
			switch t.use(n, k, variable) {
			case idleUse:
				idle[variable] = append(idle[variable], i)
			case otherUse:
				busy[variable] = true
			}
		}
	}
	for variable, all := range idle {
		if busy[variable] {
			continue
		}
		for _, i := range all {
			flat.Node[i] = afterwards(flat.Node[i])
		}
	}
}

// use is what a node does with a variable.
type use uint8

const (
	readUse  use = iota // reads it, passes it on, or restores it
	idleUse             // assigns its own value
	otherUse            // may change it
)

// use returns what a node does with the variable in its input k.
func (t *tracer) use(n *node_def_go_proto.NodeDef, k int, variable string) use {
	switch n.GetOp() {
	case "Identity", "IdentityN", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp":
		return readUse
	case "AssignVariableOp":
		if k != 0 || len(n.GetInput()) < 2 {
			break
		}
		switch value := t.source(n.GetInput()[1]); value.GetOp() {
		case "RestoreV2":
			return readUse
		case "ReadVariableOp":
			if len(value.GetInput()) > 0 && t.variable(value.GetInput()[0]) == variable {
				return idleUse
			}
		}
	}
	return otherUse
}

// afterwards is a node of the same name that does nothing, and runs after the same nodes.
func afterwards(n *node_def_go_proto.NodeDef) *node_def_go_proto.NodeDef {
	after := []string{"^" + nodeOf(n.GetInput()[1])}
	for _, in := range n.GetInput()[2:] {
		if strings.HasPrefix(in, "^") {
			after = append(after, in)
		}
	}
	return &node_def_go_proto.NodeDef{Name: n.GetName(), Op: "NoOp", Device: n.GetDevice(), Input: after}
}

// tracer follows inputs of a graph through nodes that pass them on unchanged.
type tracer struct {
	nodes map[string]*node_def_go_proto.NodeDef
	known map[string]*node_def_go_proto.NodeDef // the sources of inputs
}

// variable returns the name of the variable that an input is, as returned by [key]; "" for other inputs.
func (t *tracer) variable(input string) string {
	n := t.source(input)
	if n.GetOp() != "VarHandleOp" {
		return ""
	}
	name := string(n.GetAttr()["shared_name"].GetS())
	if name == "" {
		name = n.GetName()
	}
	return eager.ResourceKey(string(n.GetAttr()["container"].GetS()), name)
}

// source returns the node that an input comes from, or nil.
func (t *tracer) source(input string) *node_def_go_proto.NodeDef {
	var path []string
	for len(path) <= len(t.nodes) { // they may form a cycle
		if n, ok := t.known[input]; ok {
			t.remember(path, n)
			return n
		}
		path = append(path, input)
		next, ok := t.passed(input)
		if !ok {
			break
		}
		input = next
	}
	name, _, _ := strings.Cut(input, ":") // a control input has none
	t.remember(path, t.nodes[name])
	return t.nodes[name]
}

func (t *tracer) remember(path []string, n *node_def_go_proto.NodeDef) {
	for _, input := range path {
		t.known[input] = n
	}
}

// passed returns the input that an output is equal to, if its node passes inputs on.
func (t *tracer) passed(input string) (next string, ok bool) {
	name, index, _ := strings.Cut(input, ":")
	n, output := t.nodes[name], 0
	switch n.GetOp() {
	case "IdentityN":
		output, _ = strconv.Atoi(index)
	case "Identity", "EnsureShape":
	default:
		return "", false
	}
	if output < 0 || output >= len(n.GetInput()) {
		return "", false
	}
	return n.GetInput()[output], true
}

// nodeOf returns the name of the node in an input.
func nodeOf(input string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(input, "^"), ":")
	return name
}
