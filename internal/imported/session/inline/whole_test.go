package inline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
)

const parts = `
library {
  function {
    signature { name: "part" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
    node_def { name: "twice" op: "double" input: "x" }
    node_def { name: "send" op: "_Send" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "in" op: "Enter" input: "x" attr { key: "frame_name" value { s: "loop" } } }
    ret { key: "y" value: "twice:z:0" }
  }
  function {
    signature { name: "double" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "z" type: DT_FLOAT } }
    node_def { name: "add" op: "AddV2" input: "a" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
    node_def { name: "unused" op: "Neg" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "z" value: "add:z:0" }
  }
  function { signature { name: "any" input_arg { name: "a" type_attr: "T" } } }
}`

// TestFunction: a function as a graph: the nodes that its results need, or all its nodes, with the names that other parts know.
func TestFunction(t *testing.T) {
	library := parse(t, parts).GetLibrary()
	for whole, want := range map[bool]string{
		false: "x:_Arg twice/add:AddV2 twice:IdentityN _results:IdentityN",
		true:  "x:_Arg twice/add:AddV2 twice:IdentityN send:_Send in:Enter _results:IdentityN",
	} {
		f, err := inline.Function(library, "part", whole)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []string
		for _, n := range f.Graph.GetNode() {
			nodes = append(nodes, n.GetName()+":"+n.GetOp())
			if n.GetName() == "in" && string(n.GetAttr()["frame_name"].GetS()) != "loop" {
				t.Errorf("the frame is now %q", n.GetAttr()["frame_name"].GetS())
			}
		}
		if got := strings.Join(nodes, " "); got != want || f.Result != "_results" || fmt.Sprint(f.Args) != "[x]" {
			t.Errorf("whole %v: got %s, result %s, arguments %v, expected %s", whole, got, f.Result, f.Args, want)
		}
	}
	for _, name := range []string{"none", "any"} {
		if _, err := inline.Function(library, name, false); err == nil {
			t.Errorf("%s: expected an error", name)
		}
	}
}
