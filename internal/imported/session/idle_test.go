package session

import (
	"testing"

	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// An assignment of what the variable has does nothing, unless something else may change the variable.
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
