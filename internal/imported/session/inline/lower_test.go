package inline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
)

const lowers = `attr { key: "_lower_using_switch_merge" value { b: true } }`

// TestLower: nodes of functions get their own devices, and branches and loops become TensorFlow 1's.
func TestLower(t *testing.T) {
	gd := parse(t, `
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "c" op: "PartitionedCall" input: "x" device: "/job:worker/device:CPU:0" attr { key: "f" value { func { name: "half" } } } }
node { name: "p" op: "Less" input: "c" input: "x" }
node { name: "i" op: "If" input: "p" input: "c:1" input: "^x" `+lowers+` attr { key: "Tcond" value { type: DT_BOOL } } attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT type: DT_FLOAT } } }
  attr { key: "then_branch" value { func { name: "half" } } } attr { key: "else_branch" value { func { name: "half" } } } }
node { name: "y" op: "Neg" input: "i:1" input: "^i" }
library { function {
  signature { name: "half" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } output_arg { name: "s" type: DT_FLOAT } }
  node_def { name: "k" op: "Const" }
  node_def { name: "m" op: "Mul" input: "a" input: "k:output:0" device: "/job:ps/task:1" attr { key: "_class" value { list { s: "loc:@k" s: "loc:@elsewhere" } } } }
  ret { key: "r" value: "m:z:0" } ret { key: "s" value: "a" }
} }`)
	before := fmt.Sprint(gd)
	l, err := inline.Lower(gd)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(gd) != before {
		t.Error("the graph was changed")
	}
	nodes := map[string]string{}
	for _, n := range l.Graph.GetNode() {
		nodes[n.GetName()] = fmt.Sprintf("%s(%s)@%s", n.GetOp(), strings.Join(n.GetInput(), " "), n.GetDevice())
		for _, s := range n.GetAttr()["_class"].GetList().GetS() {
			if c := strings.TrimPrefix(string(s), "loc:@"); n.GetName() != strings.TrimSuffix(c, "k")+"m" {
				t.Errorf("%s is colocated with %s", n.GetName(), c)
			}
		}
	}
	for name, want := range map[string]string{
		"c":                 "NoOp(^c/m)@/job:worker/device:CPU:0",
		"c/m":               "Mul(x c/k:0)@/job:ps/task:1/device:CPU:0",
		"c/k":               "Const()@/job:worker/device:CPU:0",
		"p":                 "Less(c/m:0 x)@",
		"i/switch_pred":     "Switch(p p ^x)@",
		"i/switch_0":        "Switch(x:0 p)@",
		"i/branch_1/_begin": "NoOp(^i/pivot_1)@",
		"i/branch_1/m":      "Mul(i/switch_0:1 i/branch_1/k:0)@/job:ps/task:1",
		"i/branch_0/k":      "Const(^i/branch_0/_begin)@",
		"i/merge_0":         "Merge(i/branch_0/m:0 i/branch_1/m:0)@",
		"i/merge_1":         "Merge(i/branch_0/_pass:0 i/branch_1/_pass:0)@",
		"i":                 "NoOp(^i/branch_executed)@",
		"y":                 "Neg(i/merge_1:0 ^i)@",
	} {
		if nodes[name] != want {
			t.Errorf("%s: got %s, expected %s", name, nodes[name], want)
		}
	}
	if got := l.Outputs["c:1"] + " " + l.Outputs["c:0"] + " " + l.Outputs["i:0"]; got != "x:0 c/m:0 i/merge_0:0" {
		t.Errorf("the outputs are %s", got)
	}
}

// TestLowerLoop: a resource stays the same in all iterations.
func TestLowerLoop(t *testing.T) {
	l, err := inline.Lower(parse(t, `
node { name: "v" op: "VarHandleOp" }
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "w" op: "While" input: "v" input: "x" input: "^x" `+lowers+` attr { key: "T" value { list { type: DT_RESOURCE type: DT_FLOAT } } }
  attr { key: "cond" value { func { name: "test" } } } attr { key: "body" value { func { name: "step" } } } }
node { name: "y" op: "Neg" input: "w:1" }
node { name: "z" op: "ReadVariableOp" input: "w" }
library {
  function { signature { name: "test" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_BOOL } }
    node_def { name: "less" op: "Less" input: "a" input: "a" } ret { key: "r" value: "less:z:0" } }
  function { signature { name: "step" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_RESOURCE } output_arg { name: "s" type: DT_FLOAT } }
    node_def { name: "read" op: "ReadVariableOp" input: "v" } ret { key: "r" value: "v" } ret { key: "s" value: "read:value:0" } }
}`))
	if err != nil {
		t.Fatal(err)
	}
	nodes := map[string]string{}
	for _, n := range l.Graph.GetNode() {
		nodes[n.GetName()] = fmt.Sprintf("%s(%s)", n.GetOp(), strings.Join(n.GetInput(), " "))
	}
	for name, want := range map[string]string{
		"w/enter_0":   "Enter(v ^w/begin)",
		"w/merge_1":   "Merge(w/enter_1 w/next_1)",
		"w/cond/less": "Less(w/merge_1 w/merge_1 ^w/cond/_begin)",
		"w/LoopCond":  "LoopCond(w/cond/less:0)",
		"w/switch_1":  "Switch(w/merge_1 w/LoopCond)",
		"w/body/read": "ReadVariableOp(w/enter_0 ^w/body/_begin)",
		"w/next_1":    "NextIteration(w/body/read:0 ^w/body)",
		"w/exit_1":    "Exit(w/switch_1:0)",
		"w":           "NoOp(^w/exit_1)",
		"y":           "Neg(w/exit_1:0)",
		"z":           "ReadVariableOp(v:0)",
	} {
		if nodes[name] != want {
			t.Errorf("%s: got %s, expected %s", name, nodes[name], want)
		}
	}
}

func TestLowerErrors(t *testing.T) {
	branch := func(name, more string) string {
		return fmt.Sprintf(`node { name: "y" op: "If" input: "p" %s %s attr { key: "Tcond" value { type: DT_BOOL } } attr { key: "then_branch" value { func { name: %q } } } attr { key: "else_branch" value { func { name: %q } } } }`, more, lowers, name, name)
	}
	p := `node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }`
	itself := `library { function { signature { name: "f" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "n" op: "f" } ret { key: "r" value: "n:r:0" } } }`
	large := `library { function { signature { name: "f" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "k" op: "Const" attr { key: "value" value { s: "` + strings.Repeat("x", 1<<20) + `" } } } ret { key: "r" value: "k:output:0" } } }`
	many := ""
	for i := range 400 {
		many += fmt.Sprintf(`node { name: "n%d" op: "f" }`, i)
	}
	for name, c := range map[string]struct{ text, says string }{
		"no function": {p + branch("g", ""), "no such function"},
		"recursion":   {p + branch("f", "") + itself, "calls itself"},
		"inputs":      {p + branch("f", `input: "p"`) + itself, "expected 1 inputs, got 2"},
		"size":        {many + large, "much larger than its file"},
		"no values":   {`node { name: "y" op: "While" ` + lowers + ` attr { key: "body" value { func { name: "f" } } } }` + itself, "expected a value that the loop changes"},
	} {
		if _, err := inline.Lower(parse(t, c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %.300v, expected %s", name, err, c.says)
		}
	}
}
