package eagerservice

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// branches are functions of two variables: "pick" adds x to the first one and returns the second one times x if x is above 0, and 0
// otherwise.
const branches = `
signature { name: "yes" input_arg { name: "p" type: DT_RESOURCE } input_arg { name: "q" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } control_output: "add" }
node_def { name: "add" op: "AssignAddVariableOp" input: "p" input: "x" attr { key: "dtype" value { type: DT_FLOAT } } }
node_def { name: "read" op: "ReadVariableOp" input: "q" attr { key: "dtype" value { type: DT_FLOAT } } }
node_def { name: "mul" op: "Mul" input: "read:value:0" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
ret { key: "y" value: "mul:z:0" } control_ret { key: "add" value: "add" }
---
signature { name: "no" input_arg { name: "p" type: DT_RESOURCE } input_arg { name: "q" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
node_def { name: "zero" op: "ZerosLike" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
ret { key: "y" value: "zero:y:0" }
---
signature { name: "pick" input_arg { name: "p" type: DT_RESOURCE } input_arg { name: "q" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } control_output: "if" is_stateful: true }
node_def { name: "none" op: "ZerosLike" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node_def { name: "above" op: "Greater" input: "x" input: "none:y:0" attr { key: "T" value { type: DT_FLOAT } } }
node_def { name: "if" op: "If" input: "above:z:0" input: "p" input: "q" input: "x"
  attr { key: "Tcond" value { type: DT_BOOL } } attr { key: "Tin" value { list { type: DT_RESOURCE type: DT_RESOURCE type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "then_branch" value { func { name: "yes" } } } attr { key: "else_branch" value { func { name: "no" } } } attr { key: "_lower_using_switch_merge" value { b: true } }
  attr { key: "output_shapes" value { list { shape {} } } } }
ret { key: "y" value: "if:output:0" } control_ret { key: "if" value: "if" }
`

// TestBranchOverTasks: a branch of a function uses a variable of the worker and one of a parameter server.
func TestBranchOverTasks(t *testing.T) {
	r := newRig(t)
	for _, text := range strings.Split(branches, "---") {
		f := &function_go_proto.FunctionDef{}
		if err := prototext.Unmarshal([]byte(text), f); err != nil {
			t.Fatal(err)
		}
		item := &rpcs.QueueItem{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: &rpcs.RegisterFunctionOp{FunctionDef: f}}}
		for _, job := range []string{"worker", "ps"} {
			if _, err := r.enqueue(job, item); err != nil {
				t.Fatal(err)
			}
		}
	}
	variable(t, func(item *rpcs.QueueItem) (*rpcs.QueueResponse, error) { return r.enqueue("ps", item) }, "ps", 10, 1)
	variable(t, func(item *rpcs.QueueItem) (*rpcs.QueueResponse, error) { return r.enqueue("worker", item) }, "worker", 20, 100)
	for i, c := range []struct{ x, want, total float32 }{{3, 300, 4}, {-1, 0, 4}, {0.5, 50, 4.5}} {
		_, err := r.enqueue("worker", execute(&rpcs.Operation{Id: int64(30 + i), Name: "pick", IsFunction: true,
			OpInputs: []*rpcs.Operation_Input{kept("ps", 10, resource), kept("worker", 20, resource), given(t, c.x)}}))
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.enqueue("worker", execute(&rpcs.Operation{Id: invalidID, Name: "Identity", Attrs: attrs{"T": typeAttr(float)}, OpInputs: []*rpcs.Operation_Input{kept("worker", int64(30+i), float)}}))
		if got := number(t, out, err); got != c.want {
			t.Errorf("x %v: got %v, expected %v", c.x, got, c.want)
		}
		out, err = r.enqueue("ps", execute(&rpcs.Operation{Id: invalidID, Name: "ReadVariableOp", Attrs: attrs{"dtype": typeAttr(float)}, OpInputs: []*rpcs.Operation_Input{kept("ps", 10, resource)}}))
		if got := number(t, out, err); got != c.total {
			t.Errorf("x %v: the variable is %v, expected %v", c.x, got, c.total)
		}
	}
}
