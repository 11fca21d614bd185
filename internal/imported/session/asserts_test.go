package session_test

import (
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/imported/session"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	pb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// Assertions can refuse a run although no fetch needs their values: guarded by a branch, as tf.debugging.Assert writes them, in a called
// function, and as checks of numbers.
func TestAssertionsWithoutValues(t *testing.T) {
	const float, bools = `attr { key: "T" value { type: DT_FLOAT } }`, `attr { key: "T" value { type: DT_BOOL } }`
	const guard = `name: "guard" op: "If" input: "fine%s" input: "fine%s" attr { key: "then_branch" value { func { name: "pass" } } }
		attr { key: "else_branch" value { func { name: "fail" } } } attr { key: "Tcond" value { type: DT_BOOL } }
		attr { key: "Tin" value { list { type: DT_BOOL } } } attr { key: "Tout" value { list { type: DT_BOOL } } }`
	guarded := func(output string) string { return strings.ReplaceAll(guard, "%s", output) }
	const less = `name: "fine" op: "Less" input: "x" input: "hundred`
	const hundred = `name: "hundred" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 100 } } }`
	for name, c := range map[string]struct{ nodes, waits, text string }{
		"branch": {`node { ` + hundred + ` } node { ` + less + `" ` + float + ` } node { ` + guarded("") + ` }`, "guard", "assertion failed: [0]"},
		"call": {`node { name: "call" op: "StatefulPartitionedCall" input: "x" attr { key: "f" value { func { name: "checked" } } }
			attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } } }`, "call", "assertion failed: [0]"},
		"numbers": {`node { name: "zero" op: "Sub" input: "x" input: "x" ` + float + ` } node { name: "many" op: "RealDiv" input: "x" input: "zero" ` + float + ` }
			node { name: "numbers" op: "CheckNumerics" input: "many" ` + float + ` attr { key: "message" value { s: "bad" } } }`, "numbers", "bad"},
	} {
		gd := &graph_go_proto.GraphDef{}
		if err := prototext.Unmarshal([]byte(`node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape {} } } } `+c.nodes+`
			node { name: "y" op: "Identity" input: "x" input: "^`+c.waits+`" `+float+` }
			library {
				function { signature { name: "pass" input_arg { name: "b" type: DT_BOOL } output_arg { name: "o" type: DT_BOOL } }
					node_def { name: "same" op: "Identity" input: "b" `+bools+` } ret { key: "o" value: "same:output:0" } }
				function { signature { name: "fail" input_arg { name: "b" type: DT_BOOL } output_arg { name: "o" type: DT_BOOL } is_stateful: true }
					node_def { name: "assert" op: "Assert" input: "b" input: "b" attr { key: "T" value { list { type: DT_BOOL } } } }
					node_def { name: "same" op: "Identity" input: "b" input: "^assert" `+bools+` } ret { key: "o" value: "same:output:0" } control_ret { key: "assert" value: "assert" } }
				function { signature { name: "checked" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "z" type: DT_FLOAT } is_stateful: true }
					node_def { `+hundred+` } node_def { `+less+`:output:0" `+float+` } node_def { `+guarded(":z:0")+` }
					node_def { name: "same" op: "Identity" input: "x" `+float+` } ret { key: "z" value: "same:output:0" } control_ret { key: "guard" value: "guard" } } }`), gd); err != nil {
			t.Fatal(err)
		}
		info := func(name string) map[string]*pb.TensorInfo {
			return map[string]*pb.TensorInfo{"t": {Encoding: &pb.TensorInfo_Name{Name: name}, Dtype: types_go_proto.DataType_DT_FLOAT}}
		}
		sigs := map[string]*pb.SignatureDef{"serving_default": {Inputs: info("x:0"), Outputs: info("y:0")}}
		s, err := session.Load(t.Context(), &savedmodel.MetaGraph{Dir: t.TempDir(), Signatures: sigs, Proto: &pb.MetaGraphDef{GraphDef: gd, SignatureDef: sigs}}, session.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, x := range []float32{1, 500} {
			_, err := s.Run(t.Context(), map[string]*tensor.Tensor{"x:0": tensor.Scalar(x)}, []string{"y:0"})
			if refused := x == 500 || name == "numbers"; refused != (err != nil) || refused && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s of %v: got %v, expected a refusal %v", name, x, err, refused)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
