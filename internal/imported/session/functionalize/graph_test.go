package functionalize_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/imported/session/functionalize"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/encoding/prototext"
)

// graphOf makes a graph from lines "Op name input input...". Its nodes of control flow are in frame f.
func graphOf(t testing.TB, lines ...string) *graph_go_proto.GraphDef {
	t.Helper()
	var b strings.Builder
	for _, l := range lines {
		f := strings.Fields(l)
		b.WriteString(`node { op: "` + f[0] + `" name: "` + f[1] + `"`)
		for _, in := range f[2:] {
			b.WriteString(` input: "` + in + `"`)
		}
		b.WriteString(` attr { key: "T" value { type: DT_FLOAT } } attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "frame_name" value { s: "f" } } }` + "\n")
	}
	gd := &graph_go_proto.GraphDef{}
	if err := prototext.Unmarshal([]byte(b.String()), gd); err != nil {
		t.Fatal(err)
	}
	return gd
}

// counting is a loop whose condition reads a table, which is a loop invariant.
var counting = []string{"Placeholder x", "Const limit", "Enter e x", "Enter most limit", "NextIteration next more", "Merge m e next",
	"Less less m most", "LoopCond go less", "Switch s m go", "Identity in s:1", "Const one ^in", "AddV2 more in one", "Exit out s", "Identity y out"}

// TestLoop shows the result for a loop.
func TestLoop(t *testing.T) {
	gd := graphOf(t, counting...)
	made, err := functionalize.Graph(gd, []string{"y"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, gd, "Placeholder x", "Const limit", "Identity out f/While", "Identity y out", "While f/While x limit")
	if len(made) != 2 {
		t.Fatalf("%d functions, expected condition and body", len(made))
	}
	same(t, made[0].Graph, "Placeholder argument_0", "Placeholder argument_1", "Less less argument_0 argument_1", "IdentityN results less")
	same(t, made[1].Graph, "Placeholder argument_0", "Placeholder argument_1", "AddV2 more in one", "Const one ^in", "Identity in argument_0", "IdentityN results more argument_1")
}

// TestLoopOfFunction: a loop in a function that is called twice becomes two loops.
func TestLoopOfFunction(t *testing.T) {
	gd := graphOf(t, "PartitionedCall a x", "PartitionedCall y a", "Placeholder x")
	body := graphOf(t, "Enter e x", "NextIteration next more", "Merge m e:output:0 next:output:0", "Less less m:output:0 m:output:0",
		"LoopCond go less:z:0", "Switch s m:output:0 go:output:0", "AddV2 more s:output_true:0 s:output_true:0", "Exit out s:output_false:0")
	body.Node[1].Input[0] = "more:z:0"
	f := &function_go_proto.FunctionDef{Signature: &op_def_go_proto.OpDef{Name: "f", InputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "x", Type: types_go_proto.DataType_DT_FLOAT}},
		OutputArg: []*op_def_go_proto.OpDef_ArgDef{{Name: "y", Type: types_go_proto.DataType_DT_FLOAT}}}, NodeDef: body.Node, Ret: map[string]string{"y": "out:output:0"}}
	gd.Library = &function_go_proto.FunctionDefLibrary{Function: []*function_go_proto.FunctionDef{f}}
	for _, call := range gd.Node[:2] {
		call.Attr["f"] = &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_Func{Func: &attr_value_go_proto.NameAttrList{Name: "f"}}}
	}
	flat, err := inline.Flatten(gd, []string{"y"})
	if err != nil {
		t.Fatal(err)
	}
	if made, err := functionalize.Graph(flat, []string{"y"}, nil); err != nil || len(made) != 4 {
		t.Errorf("%d functions, %v: expected conditions and bodies of two loops", len(made), err)
	}
}

func same(t *testing.T, gd *graph_go_proto.GraphDef, want ...string) {
	t.Helper()
	have := map[string]bool{}
	for _, n := range gd.GetNode() {
		have[strings.Join(append([]string{n.GetOp(), n.GetName()}, n.GetInput()...), " ")] = true
	}
	for _, w := range want {
		if !have[w] {
			t.Errorf("the graph lacks %q: it has %v", w, have)
		}
	}
	if len(have) != len(want) {
		t.Errorf("the graph has %d nodes, expected %d: %v", len(have), len(want), have)
	}
}

// TestIrregular: the error names nodes that tf.while_loop or tf.cond would not make.
func TestIrregular(t *testing.T) {
	without := func(prefix string) []string {
		var out []string
		for _, l := range counting {
			if !strings.HasPrefix(l, prefix) {
				out = append(out, l)
			}
		}
		return out
	}
	lost := func(from, to string) []string {
		return strings.Split(strings.ReplaceAll(strings.Join(counting, "\n"), from, to), "\n")
	}
	branch := []string{"Placeholder x", "Placeholder p", "Switch s x p", "Neg a s", "Abs b s:1"}
	for name, c := range map[string]struct {
		lines []string
		keep  string
		want  string
	}{
		"no switch":       {without("Switch"), "m", "has a Switch"},
		"fetched inside":  {counting, "more", "belongs to no loop"},
		"no condition":    {[]string{"Placeholder x", "Enter e x", "Identity y e"}, "y", `loop "f"`},
		"no merge":        {append(branch, "Identity y a"), "y", `"s" (Switch)`},
		"one side":        {append(branch, "Merge y a s"), "y", "two outcomes"},
		"two conditions":  {append(branch, "Placeholder q", "Switch r x q", "AddV2 c b r", "Merge y a c"), "y", "two conditions"},
		"index":           {append(branch, "Merge m a b", "Identity y m:1"), "y", "which branch"},
		"three":           {append(branch, "Merge y a b b"), "y", "belongs to no"},
		"within itself":   {append(branch, "Merge y a z", "Merge z b y"), "y", "within itself"},
		"of nothing":      {[]string{"Const a", "Const b", "Merge y a b"}, "y", "two outcomes"},
		"no such node":    {[]string{"Placeholder x", "Merge y x lost"}, "y", `"lost"`},
		"lost condition":  {lost("less m most", "less m lost"), "y", `"lost"`},
		"lost result":     {lost("more in one", "more in lost"), "y", `"lost"`},
		"next of nothing": {[]string{"NextIteration n m", "Merge m n n", "Exit y m"}, "y", "Enter and a NextIteration"},
	} {
		if _, err := functionalize.Graph(graphOf(t, c.lines...), []string{c.keep}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: expected an error with %q", name, err, c.want)
		}
	}
}

// TestSharedCondition: an input of a branch may come from another branch of the same condition.
func TestSharedCondition(t *testing.T) {
	gd := graphOf(t, "Placeholder x", "Placeholder p", "Switch s x p", "Neg a s", "Abs b s:1", "Merge m a b",
		"Switch r m p", "Neg c r", "Abs d r:1", "Merge y c d")
	made, err := functionalize.Graph(gd, []string{"y"}, nil)
	if err != nil || len(made) != 4 {
		t.Fatalf("%d functions, %v: expected four", len(made), err)
	}
	same(t, gd, "Placeholder x", "Placeholder p", "If m/If p x", "Identity m m/If", "If y/If p m", "Identity y y/If")
}

// flowOps are the ops of the graphs that FuzzGraph makes.
var flowOps = []string{"Const", "Identity", "AddV2", "Placeholder", "PlaceholderWithDefault", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond",
	"TensorArrayV3", "TensorArrayReadV3", "TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySizeV3"}

// nodeBytes is the bytes of a node in FuzzGraph: its op, whether it has attributes and its frame, and three inputs.
const nodeBytes = 5

// fuzzed makes a graph from bytes. An input is 0 for none, else 1 + 4 * the node + its output, or 3 for control.
func fuzzed(data []byte) *graph_go_proto.GraphDef {
	gd := &graph_go_proto.GraphDef{}
	for i := 0; i+nodeBytes <= len(data); i += nodeBytes {
		n := &node_def_go_proto.NodeDef{Name: fmt.Sprint("n", i/nodeBytes), Op: flowOps[int(data[i])%len(flowOps)]}
		if data[i+1]%2 == 0 {
			float := &attr_value_go_proto.AttrValue{Value: &attr_value_go_proto.AttrValue_Type{Type: types_go_proto.DataType_DT_FLOAT}}
			n.Attr = map[string]*attr_value_go_proto.AttrValue{"T": float, "dtype": float, "frame_name": {Value: &attr_value_go_proto.AttrValue_S{S: data[i+1 : i+2]}}}
		}
		for _, in := range data[i+2 : i+nodeBytes] {
			if in == 0 {
				continue
			}
			name, output := fmt.Sprint("n", (in-1)/4), (in-1)%4
			if output == 3 {
				name = "^" + name
			} else if output > 0 {
				name = fmt.Sprint(name, ":", output)
			}
			n.Input = append(n.Input, name)
		}
		gd.Node = append(gd.Node, n)
	}
	return gd
}

// bytesOf returns the bytes from which fuzzed makes the graph that graphOf makes from lines.
func bytesOf(lines ...string) []byte {
	at := map[string]int{}
	for i, l := range lines {
		at[strings.Fields(l)[1]] = i
	}
	var out []byte
	for _, l := range lines {
		f := strings.Fields(l)
		node := make([]byte, nodeBytes)
		node[0] = byte(max(slices.Index(flowOps, f[0]), 0))
		for k, in := range f[2:] {
			name, port, _ := strings.Cut(strings.TrimPrefix(in, "^"), ":")
			output := 0
			if port != "" {
				output = 1
			} else if in != name {
				output = 3
			}
			node[2+k] = byte(1 + 4*at[name] + output)
		}
		out = append(out, node...)
	}
	return out
}

// FuzzGraph: conversion never panics or runs without end, and leaves none of the nodes that it replaces. Graphs are made of few
// bytes, since the fuzzer would spend its time on minimizing graphs that TensorFlow saved.
func FuzzGraph(f *testing.F) {
	f.Add(bytesOf(counting...))
	f.Add(bytesOf("Placeholder x", "Placeholder p", "Switch s x p", "Identity a s", "Identity b s:1", "Merge m a b",
		"Switch r m p", "Identity c r", "Identity d r:1", "Merge y c d"))
	f.Add(bytesOf("Placeholder x", "Const size", "Const at", "TensorArrayV3 array size", "TensorArrayScatterV3 fill array x array:1", "Identity all fill", "TensorArrayReadV3 y array at all"))
	f.Fuzz(func(t *testing.T, data []byte) {
		gd := fuzzed(data)
		if len(gd.Node) == 0 {
			return
		}
		keep := []string{gd.Node[len(gd.Node)-1].GetName()}
		flat, err := inline.Flatten(gd, keep)
		if err != nil {
			return
		}
		made, err := functionalize.Graph(flat, keep, nil)
		if err != nil {
			return
		}
		for _, c := range append(made, &inline.Callee{Name: "of the graph", Graph: flat}) {
			for _, n := range c.Graph.GetNode() {
				if i := slices.Index(flowOps, n.GetOp()); i >= slices.Index(flowOps, "Switch") {
					t.Fatalf("function %s has node %s (%s)", c.Name, n.GetName(), n.GetOp())
				}
			}
		}
	})
}

// TestArrays: arrays become lists, which replace their flows; the error names ops that lists cannot do.
func TestArrays(t *testing.T) {
	filled := []string{"Placeholder x", "Const size", "Const at", "TensorArrayScatterV3 fill array at x array:1", "TensorArrayV3 array size"}
	gd := graphOf(t, append(filled, "TensorArrayReadV3 y array at fill")...)
	if _, err := functionalize.Graph(gd, []string{"y"}, nil); err != nil {
		t.Fatal(err)
	}
	same(t, gd, "Placeholder x", "Const size", "Const at", "TensorListScatterV2 fill x at fill/element_shape size", "Const fill/element_shape",
		"TensorListGetItem y fill at y/element_shape", "Const y/element_shape")
	for name, c := range map[string]struct{ line, want string }{
		"close":  {"TensorArrayGradV3 y array x", "not supported"},
		"again":  {"TensorArrayScatterV3 y array at x fill", "elements already"},
		"inputs": {"TensorArrayReadV3 y array at", "3 inputs"},
	} {
		if _, err := functionalize.Graph(graphOf(t, append(filled[:len(filled):len(filled)], c.line)...), []string{"y"}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: expected an error with %q", name, err, c.want)
		}
	}
}
