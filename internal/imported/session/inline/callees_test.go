package inline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
)

const looping = `
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "loop" op: "StatelessWhile" input: "x" attr { key: "T" value { list { type: DT_FLOAT } } }
  attr { key: "cond" value { func { name: "small" attr { key: "T" value { type: DT_FLOAT } } } } } attr { key: "body" value { func { name: "step" } } } }
node { name: "y" op: "Case" input: "x" input: "loop" attr { key: "branches" value { list { func { name: "step" } func { name: "small" attr { key: "T" value { type: DT_FLOAT } } } } } } }
library {
  function {
    signature { name: "small" input_arg { name: "a" type_attr: "T" } output_arg { name: "r" type: DT_BOOL } attr { name: "T" type: "type" } }
    node_def { name: "k" op: "Const" attr { key: "dtype" value { placeholder: "T" } } }
    node_def { name: "less" op: "Less" input: "a" input: "k:output:0" attr { key: "T" value { placeholder: "T" } } }
    ret { key: "r" value: "less:z:0" }
  }
  function {
    signature { name: "step" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "in" op: "PartitionedCall" input: "a" attr { key: "f" value { func { name: "half" } } } }
    node_def { name: "inner" op: "If" input: "in:output:0" input: "a" attr { key: "then_branch" value { func { name: "half" } } } attr { key: "else_branch" value { func { name: "half" } } } }
    ret { key: "r" value: "inner:output:0" }
  }
  function {
    signature { name: "half" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "neg" op: "Neg" input: "a" }
    ret { key: "r" value: "neg:y:0" }
  }
}`

// TestCallees: the functions of branches and loops, nested ones too, each flattened once for all calls with the same attributes.
func TestCallees(t *testing.T) {
	gd, err := inline.Flatten(parse(t, looping), []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := inline.Callees(gd)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range all {
		var nodes []string
		for _, n := range c.Graph.GetNode() {
			nodes = append(nodes, fmt.Sprintf("%s(%s)", n.GetOp(), strings.Join(n.GetInput(), " ")))
		}
		got = append(got, fmt.Sprintf("%s %v %s: %s", c.Name, c.Args, c.Result, strings.Join(nodes, " ")))
	}
	small := ""
	for _, n := range gd.GetNode() {
		if n.GetOp() == "StatelessWhile" {
			small = n.GetAttr()["cond"].GetFunc().GetName()
		}
		if n.GetOp() == "Case" && n.GetAttr()["branches"].GetList().GetFunc()[1].GetName() != small {
			t.Error("two calls of a function with the same attributes have two names")
		}
	}
	want(t, got,
		"half [argument_0] call: Placeholder() Neg(argument_0) IdentityN(call/neg:0)",
		small+" [argument_0] call: Placeholder() Const() Less(argument_0 call/k:0) IdentityN(call/less:0)",
		"step [argument_0] call: Placeholder() Neg(argument_0) IdentityN(call/in/neg:0) If(call/in:0 argument_0) IdentityN(call/inner:0)")
}

func TestCalleesErrors(t *testing.T) {
	loop := func(name string) string {
		return fmt.Sprintf(`node { name: "y" op: "While" attr { key: "cond" value { func { name: %q } } } }`, name)
	}
	body := func(name, calls string) string {
		return fmt.Sprintf(`function { signature { name: %q output_arg { name: "r" type: DT_FLOAT } } node_def { name: "n" op: "If" attr { key: "then_branch" value { func { name: %q } } } } ret { key: "r" value: "n:output:0" } }`, name, calls)
	}
	deep := ""
	for i := range 100 {
		deep += body(fmt.Sprintf("f%d", i), fmt.Sprintf("f%d", i+1))
	}
	upwards := "" // each function is flattened before its caller
	for i := range 100 {
		upwards += fmt.Sprintf(`node { name: "n%d" op: "If" attr { key: "then_branch" value { func { name: "f%d" } } } }`, i, 99-i)
	}
	last := `function { signature { name: "f100" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "n" op: "Const" } ret { key: "r" value: "n:output:0" } }`
	large := `function { signature { name: "f" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "n" op: "Const" attr { key: "value" value { s: "` + strings.Repeat("x", 1<<20) + `" } } } ret { key: "r" value: "n:output:0" } }`
	many := ""
	for i := range 400 {
		many += fmt.Sprintf(`node { name: "n%d" op: "If" attr { key: "then_branch" value { func { name: "f" attr { key: "k" value { i: %d } } } } } }`, i, i)
	}
	for name, c := range map[string]struct{ text, says string }{
		"no function": {loop("g"), "no such function"},
		"recursion":   {loop("f") + `library {` + body("f", "g") + body("g", "f") + `}`, "calls itself"},
		"depth":       {loop("f0") + `library {` + deep + `}`, "deeper than"},
		"upwards":     {upwards + `library {` + deep + last + `}`, "deeper than"},
		"size":        {many + `library {` + large + `}`, "much larger than its file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inline.Callees(parse(t, c.text))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %.300v, expected an error that says %s", err, c.says)
			}
		})
	}
}

// TestCalleesNames: the name made for a function with attributes is not in use.
func TestCalleesNames(t *testing.T) {
	gd := parse(t, `
node { name: "y" op: "If" attr { key: "then_branch" value { func { name: "f" attr { key: "k" value { i: 1 } } } } } attr { key: "else_branch" value { func { name: "f#1" } } } }
node { name: "z" op: "If" attr { key: "then_branch" value { func { name: "f" attr { key: "k" value { i: 2 } } } } } }
library {
  function { signature { name: "f" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "n" op: "Const" } ret { key: "r" value: "n:output:0" } }
  function { signature { name: "f#1" output_arg { name: "r" type: DT_FLOAT } } node_def { name: "n" op: "Const" } ret { key: "r" value: "n:output:0" } }
}`)
	all, err := inline.Callees(gd)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range all {
		names[c.Name] = true
	}
	if len(names) != 3 {
		t.Errorf("got the functions %v, expected three", names)
	}
}
