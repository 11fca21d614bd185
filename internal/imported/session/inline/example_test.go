package inline_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

func Example() {
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(`
node { name: "x" op: "Placeholder" }
node { name: "y" op: "negated" input: "x" }
library { function {
  signature { name: "negated" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
  node_def { name: "neg" op: "Neg" input: "a" }
  ret { key: "r" value: "neg:y:0" }
} }`), gd); err != nil {
		panic(err)
	}
	flat, err := inline.Flatten(gd, []string{"y"})
	if err != nil {
		panic(err)
	}
	for _, n := range flat.GetNode() {
		fmt.Println(n.GetOp(), n.GetName(), n.GetInput())
	}
	// Output:
	// Placeholder x []
	// Neg y/neg [x]
	// IdentityN y [y/neg:0]
}
