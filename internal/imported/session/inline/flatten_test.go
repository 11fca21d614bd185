package inline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/internal/testkit"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

func parse(t testing.TB, text string) *graph_go_proto.GraphDef {
	t.Helper()
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(text), gd); err != nil {
		t.Fatal(err)
	}
	return gd
}

// flat returns the nodes of a flattened graph, one per line.
func flat(t testing.TB, text string, keep ...string) []string {
	t.Helper()
	gd, err := inline.Flatten(parse(t, text), keep)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range gd.GetNode() {
		out = append(out, fmt.Sprintf("%s %s(%s)", n.GetOp(), n.GetName(), strings.Join(n.GetInput(), " ")))
	}
	return out
}

func want(t *testing.T, got []string, lines ...string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("got\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

const nested = `
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "unused" op: "Placeholder" }
node { name: "before" op: "NoOp" }
node { name: "call" op: "StatefulPartitionedCall" input: "x" input: "^before" attr { key: "f" value { func { name: "outer" attr { key: "T" value { type: DT_FLOAT } } } } } }
node { name: "y" op: "Identity" input: "call:1" }
library {
  function {
    signature { name: "outer" input_arg { name: "a" type_attr: "T" } output_arg { name: "top" type: DT_FLOAT } output_arg { name: "same" type_attr: "T" } }
    node_def { name: "k" op: "Const" }
    node_def { name: "best" op: "TopKV2" input: "a" input: "k:output:0" attr { key: "T" value { placeholder: "T" } } }
    node_def { name: "in" op: "PartitionedCall" input: "best:indices:0" attr { key: "f" value { func { name: "inner" } } } }
    node_def { name: "shout" op: "PrintV2" input: "in:output:0" }
    node_def { name: "idle" op: "NoOp" }
    ret { key: "top" value: "in:output:0" }
    ret { key: "same" value: "a" }
    control_ret { key: "shout" value: "shout" }
  }
  function {
    signature { name: "inner" input_arg { name: "a" type: DT_INT32 } output_arg { name: "r" type: DT_INT32 } }
    node_def { name: "neg" op: "Neg" input: "a" }
    ret { key: "r" value: "neg:y:0" }
  }
}`

func TestNestedCalls(t *testing.T) {
	want(t, flat(t, nested, "y"),
		"Placeholder x()", "NoOp before()",
		"NoOp call/_begin(^before)", "Const call/k(^call/_begin)", "TopKV2 call/best(x call/k:0)",
		"Neg call/in/neg(call/best:1)", "IdentityN call/in(call/in/neg:0)",
		"PrintV2 call/shout(call/in:0)",
		"IdentityN call(call/in:0 x ^call/_begin ^call/shout)", "Identity y(call:1)")
	gd, err := inline.Flatten(parse(t, nested), []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range gd.GetNode() {
		if n.GetName() == "call/best" && n.GetAttr()["T"].GetType().String() != "DT_FLOAT" {
			t.Errorf("attribute T is %v, expected what the call passes", n.GetAttr()["T"])
		}
	}
}

// TestBatchFunction: an op that would batch requests becomes a plain call, with its captured inputs as further arguments.
func TestBatchFunction(t *testing.T) {
	want(t, flat(t, `
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "w" op: "VarHandleOp" }
node { name: "call" op: "PartitionedCall" input: "x" input: "w" attr { key: "f" value { func { name: "outer" } } } }
node { name: "y" op: "Identity" input: "call" }
library {
  function {
    signature { name: "outer" input_arg { name: "a" type: DT_FLOAT } input_arg { name: "w" type: DT_RESOURCE } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "batch" op: "BatchFunction" input: "a" input: "w" attr { key: "f" value { func { name: "inner" } } }
      attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tcaptured" value { list { type: DT_RESOURCE } } } attr { key: "Tout" value { list { type: DT_FLOAT } } } }
    ret { key: "r" value: "batch:out_tensors:0" }
  }
  function {
    signature { name: "inner" input_arg { name: "a" type: DT_FLOAT } input_arg { name: "w" type: DT_RESOURCE } output_arg { name: "r" type: DT_FLOAT } }
    node_def { name: "v" op: "ReadVariableOp" input: "w" attr { key: "dtype" value { type: DT_FLOAT } } }
    node_def { name: "sum" op: "AddV2" input: "a" input: "v:value:0" attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "r" value: "sum:z:0" }
  }
}`, "y"), "Placeholder x()", "VarHandleOp w()", "ReadVariableOp call/batch/v(w)", "AddV2 call/batch/sum(x call/batch/v:0)",
		"IdentityN call/batch(call/batch/sum:0)", "IdentityN call(call/batch:0)", "Identity y(call)")
}

// TestSecondPrefix: if the names of a call's nodes are taken, they get other names.
func TestSecondPrefix(t *testing.T) {
	text := `node { name: "c/n" op: "NoOp" } node { name: "c" op: "f" input: "^c/n" }
library { function { signature { name: "f" } node_def { name: "n" op: "PrintV2" } control_ret { key: "n" value: "n" } } }`
	want(t, flat(t, text, "c"), "NoOp c/n()", "NoOp c_1/_begin(^c/n)", "PrintV2 c_1/n(^c_1/_begin)", "NoOp c(^c_1/_begin ^c_1/n)")
}

// TestReferences: variables of TensorFlow 1 become resources that keep their names.
func TestReferences(t *testing.T) {
	const dtype = `attr { key: "dtype" value { type: DT_FLOAT } }`
	const typ = `attr { key: "T" value { type: DT_FLOAT } }`
	text := `node { name: "v" op: "VariableV2" ` + dtype + `}
node { name: "one" op: "Const" }
node { name: "v/read" op: "Identity" input: "v" ` + typ + `}
node { name: "add" op: "AssignAdd" input: "v" input: "one" ` + typ + `}
node { name: "twice" op: "AssignAdd" input: "add" input: "one" ` + typ + `}
node { name: "late" op: "Neg" input: "v" input: "^twice" ` + typ + `}
node { name: "known" op: "IsVariableInitialized" input: "v" }`
	want(t, flat(t, text, "v/read", "late", "known"),
		"VarHandleOp v/handle()", "ReadVariableOp v(v/handle)", "Const one()", "ReadVariableOp v/read(v/handle)",
		"AssignAddVariableOp add/update(v/handle one)", "ReadVariableOp add(v/handle ^add/update)",
		"AssignAddVariableOp twice/update(v/handle one ^add)", "ReadVariableOp twice(v/handle ^twice/update)",
		"ReadVariableOp late/input_0(v/handle ^twice)", "Neg late(late/input_0 ^twice)", "VarIsInitializedOp known(v/handle)")
}

// TestSharedReads: a node that runs after an update sees the new value, even if its input was read before, and whether it waits by data or
// control. Without an earlier update a value is not read again.
func TestSharedReads(t *testing.T) {
	const dtype = `attr { key: "dtype" value { type: DT_FLOAT } }`
	const typ = `attr { key: "T" value { type: DT_FLOAT } }`
	text := `node { name: "v" op: "VariableV2" ` + dtype + `}
node { name: "one" op: "Const" }
node { name: "read" op: "Identity" input: "v" ` + typ + `}
node { name: "again" op: "StopGradient" input: "read" ` + typ + `}
node { name: "early" op: "Mul" input: "again" input: "one" input: "^one" ` + typ + `}
node { name: "add" op: "AssignAdd" input: "v" input: "again" ` + typ + `}
node { name: "far" op: "Neg" input: "add" ` + typ + `}
node { name: "data" op: "Mul" input: "again" input: "far" ` + typ + `}
node { name: "control" op: "Cast" input: "read" input: "^far" attr { key: "SrcT" value { type: DT_FLOAT } } }
node { name: "twice" op: "AssignAdd" input: "v" input: "read" input: "^add" ` + typ + `}`
	want(t, flat(t, text, "early", "data", "control", "twice"),
		"VarHandleOp v/handle()", "ReadVariableOp v(v/handle)", "Const one()", "ReadVariableOp read(v/handle)", "StopGradient again(read)", "Mul early(again one ^one)",
		"AssignAddVariableOp add/update(v/handle again)", "ReadVariableOp add(v/handle ^add/update)", "Neg far(add)",
		"ReadVariableOp data/input_0(v/handle ^again ^far)", "Mul data(data/input_0 far)",
		"ReadVariableOp control/input_0(v/handle ^read ^far)", "Cast control(control/input_0 ^far)",
		"ReadVariableOp twice/input_1(v/handle ^read ^add)", "AssignAddVariableOp twice/update(v/handle twice/input_1 ^add)", "ReadVariableOp twice(v/handle ^twice/update)")
}

// TestRulesOnReferences: an optimizer's rule updates all of its variables, and keeps its attributes.
func TestRulesOnReferences(t *testing.T) {
	const dtype = `attr { key: "dtype" value { type: DT_FLOAT } }`
	const typ = `attr { key: "T" value { type: DT_FLOAT } }`
	text := `node { name: "v" op: "VariableV2" ` + dtype + `}
node { name: "m" op: "VariableV2" ` + dtype + `}
node { name: "one" op: "Const" }
node { name: "m/read" op: "Identity" input: "m" ` + typ + `}
node { name: "rule" op: "ApplyMomentum" input: "v" input: "m" input: "one" input: "one" input: "one" ` + typ + ` attr { key: "use_nesterov" value { b: true } } }
node { name: "late" op: "Neg" input: "m/read" input: "^rule" ` + typ + `}`
	want(t, flat(t, text, "late"),
		"VarHandleOp v/handle()", "ReadVariableOp v(v/handle)", "VarHandleOp m/handle()", "ReadVariableOp m(m/handle)", "Const one()", "ReadVariableOp m/read(m/handle)",
		"ResourceApplyMomentum rule/update(v/handle m/handle one one one)", "ReadVariableOp rule(v/handle ^rule/update)",
		"ReadVariableOp late/input_0(m/handle ^m/read ^rule)", "Neg late(late/input_0 ^rule)")
	gd, err := inline.Flatten(parse(t, text), []string{"rule"})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range gd.GetNode() {
		if n.GetName() == "rule/update" && !n.GetAttr()["use_nesterov"].GetB() {
			t.Error("the rule has lost its attributes")
		}
	}
	want(t, flat(t, `node { name: "v" op: "VariableV2" `+dtype+`} node { name: "n" op: "CountUpTo" input: "v" `+typ+`} node { name: "y" op: "Neg" input: "n" `+typ+`}`, "y"),
		"VarHandleOp v/handle()", "ReadVariableOp v(v/handle)", "ResourceCountUpTo n(v/handle)", "Neg y(n)") // the number before counting
	_, err = inline.Flatten(parse(t, `node { name: "c" op: "Const" } node { name: "rule" op: "ApplyGradientDescent" input: "c" input: "c" input: "c" `+typ+`}
node { name: "v" op: "VariableV2" `+dtype+`} node { name: "y" op: "Pack" input: "rule" input: "v" }`), []string{"y"})
	if err == nil || !strings.Contains(err.Error(), "expected a variable as input 0") {
		t.Errorf("got %v", err)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"no node":     {`node { name: "a" op: "NoOp" }`, `no node "y"`},
		"no input":    {`node { name: "y" op: "Neg" input: "b" }`, `no node "b"`},
		"no function": {`node { name: "y" op: "PartitionedCall" attr { key: "f" value { func { name: "g" } } } }`, `"g"`},
		"recursion": {`node { name: "y" op: "f" } library { function { signature { name: "f" } node_def { name: "n" op: "f" }
control_ret { key: "n" value: "n" } } }`, "calls itself"},
		"arguments": {`node { name: "y" op: "f" } library { function { signature { name: "f" input_arg { name: "a" type: DT_FLOAT } } } }`, "expected 1"},
		"no value":  {`node { name: "y" op: "f" } library { function { signature { name: "f" output_arg { name: "o" type: DT_FLOAT } } } }`, `"o"`},
		"no output": {`node { name: "y" op: "f" } library { function { signature { name: "f" output_arg { name: "o" type: DT_FLOAT } }
node_def { name: "n" op: "TopKV2" } ret { key: "o" value: "n:third:0" } } }`, `"third"`},
		"no body node": {`node { name: "y" op: "f" } library { function { signature { name: "f" output_arg { name: "o" type: DT_FLOAT } } ret { key: "o" value: "n:o:0" } } }`, `"n"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := inline.Flatten(parse(t, c.text), []string{"y"})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, expected an error that says %s", err, c.says)
			}
		})
	}
}

// TestDoubling: functions that call the next one twice are bounded.
func TestDoubling(t *testing.T) {
	testkit.NotConcurrent(t)
	var b strings.Builder
	b.WriteString(`node { name: "y" op: "f0" } library {`)
	for i := range 40 {
		fmt.Fprintf(&b, `function { signature { name: "f%d" } node_def { name: "a" op: "f%d" } node_def { name: "b" op: "f%d" } control_ret { key: "a" value: "a" } control_ret { key: "b" value: "b" } }`, i, i+1, i+1)
	}
	b.WriteString(`}`)
	if _, err := inline.Flatten(parse(t, b.String()), []string{"y"}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Fatalf("got %v", err)
	}
}

// TestLaughs: functions that call others twice must not make a graph of many
// gigabytes from a small file, whether by constants, by names or by inputs.
func TestLaughs(t *testing.T) {
	testkit.NotConcurrent(t)
	long := strings.Repeat("n", 10_000)
	for name, leaf := range map[string]string{
		"constants": fmt.Sprintf(`node_def { name: "k" op: "Const" attr { key: "value" value { s: %q } } } ret { key: "r" value: "k:output:0" }`, strings.Repeat("x", 1<<20)),
		"inputs":    fmt.Sprintf(`node_def { name: "k" op: "Pack" %s } ret { key: "r" value: "k:output:0" }`, strings.Repeat(`input: "a" `, 20_000)),
		"names":     fmt.Sprintf(`node_def { name: "%s" op: "Neg" input: "a" } ret { key: "r" value: "%s:y:0" }`, long, long),
	} {
		t.Run(name, func(t *testing.T) {
			const deep = 17
			var b strings.Builder
			b.WriteString(`node { name: "x" op: "Placeholder" } node { name: "y" op: "f0" input: "x" } library {`)
			for i := range deep {
				call := "n"
				if name == "names" {
					call = long
				}
				fmt.Fprintf(&b, `function { signature { name: "f%d" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } }
					node_def { name: "%s1" op: "f%d" input: "a" } node_def { name: "%s2" op: "f%d" input: "%s1:r:0" } ret { key: "r" value: "%s2:r:0" } }`,
					i, call, i+1, call, i+1, call, call)
			}
			fmt.Fprintf(&b, `function { signature { name: "f%d" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } } %s } }`, deep, leaf)
			_, err := inline.Flatten(parse(t, b.String()), []string{"y"})
			if err == nil || !strings.Contains(err.Error(), "much larger than its file") || len(err.Error()) > 100_000 {
				t.Errorf("got %.300v", err)
			}
		})
	}
}

// TestQuick: small graphs take little time: calls of a function with few needed results, and updates of a
// variable that are listed last one first.
func TestQuick(t *testing.T) {
	testkit.NotConcurrent(t)
	var b strings.Builder
	b.WriteString(`node { name: "y" op: "f30" } library { function { signature { name: "f0" output_arg { name: "o" type: DT_FLOAT } } node_def { name: "c" op: "Const" } ret { key: "o" value: "c:output:0" }`)
	for i := range 20_000 {
		fmt.Fprintf(&b, ` node_def { name: "u%d" op: "NoOp" }`, i)
	}
	for i := range 30 {
		fmt.Fprintf(&b, `} function { signature { name: "f%d" output_arg { name: "o" type: DT_FLOAT } } node_def { name: "a" op: "f%d" } node_def { name: "b" op: "f%d" input: "^a" } ret { key: "o" value: "b:o:0" }`, i+1, i, i)
	}
	b.WriteString("}}")
	if _, err := inline.Flatten(parse(t, b.String()), []string{"y"}); err == nil {
		t.Error("a graph of 2^30 nodes was made")
	}
	b.Reset()
	const updates = 50_000
	for i := updates; i > 0; i-- {
		fmt.Fprintf(&b, `node { name: "n%d" op: "RefIdentity" input: "n%d" attr { key: "T" value { type: DT_FLOAT } } }`, i, i-1)
	}
	b.WriteString(`node { name: "n0" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } }`)
	if got := flat(t, b.String(), fmt.Sprintf("n%d", updates)); len(got) != updates+2 || !strings.HasPrefix(got[0], "ReadVariableOp") {
		t.Errorf("got %d nodes, the first %s", len(got), got[0])
	}
}

// TestPreferCPU: calls of a function with several implementations reach the one for CPUs, whichever they name.
func TestPreferCPU(t *testing.T) {
	function := func(name, attrs, op string) string {
		return fmt.Sprintf(`function { signature { name: %q input_arg { name: "a" type: DT_FLOAT } output_arg { name: "r" type: DT_FLOAT } } %s
			node_def { name: "n" op: %q input: "a" } ret { key: "r" value: "n:y:0" } } `, name, attrs, op)
	}
	attr := func(pairs ...string) (all string) {
		for i := 0; i < len(pairs); i += 2 {
			all += fmt.Sprintf(`attr { key: %q value { s: %q } } `, pairs[i], pairs[i+1])
		}
		return all
	}
	wide := function("wide", attr("api_implements", "h"), "Tanh")
	wide = strings.ReplaceAll(wide, "DT_FLOAT", "DT_DOUBLE")
	library := wide + function("narrow", attr("api_implements", "h", "api_preferred_device", "CPU"), "Sinh") + function("any", attr("api_implements", "f"), "Neg") +
		function("gpu", attr("api_implements", "f", "api_preferred_device", "GPU"), "Exp") +
		function("forward", attr("api_implements", "f", "api_preferred_device", "CPU", "backward_function_name", "b"), "Log") +
		function("one", attr("api_implements", "f", "api_preferred_device", "CPU"), "Sin") +
		function("two", attr("api_implements", "f", "api_preferred_device", "CPU"), "Cos") +
		function("other", attr("api_implements", "g"), "Tan") + function("plain", "", "Abs")
	for name, op := range map[string]string{"any": "Sin", "gpu": "Sin", "forward": "Log", "one": "Sin", "two": "Cos", "other": "Tan", "plain": "Abs", "wide": "Tanh"} {
		text := fmt.Sprintf(`node { name: "x" op: "Placeholder" } node { name: "c" op: "PartitionedCall" input: "x" attr { key: "f" value { func { name: %q } } } } library { %s }`, name, library)
		want(t, flat(t, text, "c"), "Placeholder x()", op+" c/n(x)", "IdentityN c(c/n:0)")
	}
	whole, err := inline.Function(parse(t, fmt.Sprintf("library { %s }", library)).GetLibrary(), "gpu", false)
	if err != nil {
		t.Fatal(err)
	}
	if op := whole.Graph.GetNode()[1].GetOp(); op != "Exp" {
		t.Errorf("the function itself: got %s, expected its own Exp", op)
	}
}
