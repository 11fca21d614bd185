package functionalize_test

import (
	"fmt"

	"github.com/goestimator/goestimator/internal/imported/session/functionalize"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// A condition of TensorFlow 1 becomes an If, which calls a function for each outcome.
func Example() {
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(`
		node { name: "x" op: "Placeholder" } node { name: "p" op: "Placeholder" }
		node { name: "gate" op: "Switch" input: "x" input: "p" }
		node { name: "no" op: "Neg" input: "gate" } node { name: "yes" op: "Abs" input: "gate:1" }
		node { name: "y" op: "Merge" input: "no" input: "yes" }`), gd); err != nil {
		fmt.Println(err)
		return
	}
	made, err := functionalize.Graph(gd, []string{"y"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range gd.GetNode() {
		fmt.Println(n.GetOp(), n.GetName(), n.GetInput())
	}
	fmt.Println(made[0].Name, made[1].Name)
	// Output:
	// Placeholder x []
	// Placeholder p []
	// Identity y [y/If]
	// If y/If [p x]
	// y/If/else_branch y/If/then_branch
}
