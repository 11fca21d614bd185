package session

import (
	"strconv"
	"testing"

	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// Assigning a variable its own value does nothing, unless something else may change the variable.
func TestDropIdle(t *testing.T) {
	const graphText = `
		node { name: "x" op: "Placeholder" }
		node { name: "v" op: "VarHandleOp" }
		node { name: "same_v" op: "Identity" input: "v" }
		node { name: "w" op: "VarHandleOp" }
		node { name: "restored" op: "RestoreV2" input: "x" }
		node { name: "restore" op: "AssignVariableOp" input: "v" input: "restored" }
		node { name: "read" op: "ReadVariableOp" input: "same_v" }
		node { name: "pass" op: "IdentityN" input: "x" input: "read" }
		node { name: "sized" op: "EnsureShape" input: "pass:1" }
		node { name: "back" op: "AssignVariableOp" input: "v" input: "sized" input: "^x" }
		node { name: "other" op: "AssignVariableOp" input: "w" input: "sized" }`
	for name, c := range map[string]struct {
		more string
		idle bool
	}{
		"alone":   {``, true},
		"counter": {`node { name: "more" op: "AssignAddVariableOp" input: "v" input: "x" }`, false},
		"value":   {`node { name: "more" op: "AssignVariableOp" input: "v" input: "pass" }`, false},
		"loop":    {`node { name: "more" op: "While" input: "x" input: "same_v" }`, false},
		"shared":  {`node { name: "v2" op: "VarHandleOp" attr { key: "shared_name" value { s: "v" } } } node { name: "more" op: "AssignAddVariableOp" input: "v2" input: "x" }`, false},
		"circle":  {`node { name: "a" op: "Identity" input: "b" } node { name: "b" op: "Identity" input: "a" } node { name: "c" op: "Add" input: "a" input: "pass:-1" input: "pass:9" }`, true},
		"reader":  {`node { name: "more" op: "ResourceGather" input: "v" input: "x" }`, true},
	} {
		gd := &graph_go_proto.GraphDef{}
		if err := prototext.Unmarshal([]byte(graphText+c.more), gd); err != nil {
			t.Fatal(err)
		}
		before := gd.Node[9]
		dropIdle(gd)
		back := gd.Node[9]
		if idle := back.GetOp() == "NoOp"; idle != c.idle || back.GetName() != "back" || before.GetOp() != "AssignVariableOp" {
			t.Errorf("%s: got %v", name, back)
		}
		if c.idle && (len(back.Input) != 2 || back.Input[0] != "^sized" || back.Input[1] != "^x") {
			t.Errorf("%s: it comes after %v", name, back.Input)
		}
		if restore, other := gd.Node[5].GetOp(), gd.Node[10].GetOp(); restore != "AssignVariableOp" || other != "AssignVariableOp" {
			t.Errorf("%s: got %s and %s", name, restore, other)
		}
	}
}

// A long chain of nodes that pass a variable on, each with a reader, takes linear time.
func TestDropIdleOfAChain(t *testing.T) {
	gd := &graph_go_proto.GraphDef{Node: []*node_def_go_proto.NodeDef{{Name: "0", Op: "VarHandleOp"}}}
	const n = 1 << 17
	for i := range n {
		gd.Node = append(gd.Node, &node_def_go_proto.NodeDef{Name: strconv.Itoa(i + 1), Op: "Identity", Input: []string{strconv.Itoa(i)}})
	}
	last := strconv.Itoa(n)
	gd.Node = append(gd.Node, &node_def_go_proto.NodeDef{Name: "read", Op: "ReadVariableOp", Input: []string{last}}, &node_def_go_proto.NodeDef{Name: "back", Op: "AssignVariableOp", Input: []string{last, "read"}})
	dropIdle(gd)
	if back := gd.Node[len(gd.Node)-1]; back.Op != "NoOp" {
		t.Errorf("got %v", back)
	}
}
