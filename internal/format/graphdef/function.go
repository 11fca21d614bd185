package graphdef

import (
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// Function says how a graph becomes a function.
type Function struct {
	Name string
	Args []*graph.Node // nodes whose first outputs are the function's arguments
	Ends []*graph.Node // nodes whose inputs are the results, in order; they are not part of the body
}

// ToFunctionDef converts a graph to a function that runs all its nodes.
func ToFunctionDef(g *graph.Graph, f Function) (*function_go_proto.FunctionDef, error) {
	gd, err := ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	sig := &op_def_go_proto.OpDef{Name: f.Name, IsStateful: true}
	def := &function_go_proto.FunctionDef{Signature: sig, Ret: map[string]string{}, ControlRet: map[string]string{}}
	args, outside := arguments{}, map[*graph.Node]bool{}
	for _, n := range f.Args {
		args[n], outside[n] = true, true
		sig.InputArg = append(sig.InputArg, argDef(n.Name, n.Outputs[0].DType))
	}
	for _, end := range f.Ends {
		outside[end] = true
		for _, o := range end.Inputs {
			name := fmt.Sprintf("result_%d", len(sig.OutputArg))
			sig.OutputArg = append(sig.OutputArg, argDef(name, o.DType()))
			def.Ret[name] = args.input(o)
		}
	}
	used := usedNodes(g, outside)
	for i, n := range g.Nodes() {
		if outside[n] {
			continue
		}
		gd.Node[i].Input = args.inputs(n)
		def.NodeDef = append(def.NodeDef, gd.Node[i])
		if !used[n] { // it runs even if no result needs it
			def.ControlRet[n.Name] = n.Name
			sig.ControlOutput = append(sig.ControlOutput, n.Name)
		}
	}
	return def, nil
}

func argDef(name string, t tensor.DType) *op_def_go_proto.OpDef_ArgDef {
	return &op_def_go_proto.OpDef_ArgDef{Name: name, Type: types_go_proto.DataType(t)}
}

// usedNodes returns the nodes that other nodes or the results depend on.
func usedNodes(g *graph.Graph, ends map[*graph.Node]bool) map[*graph.Node]bool {
	used := map[*graph.Node]bool{}
	for _, n := range g.Nodes() {
		for _, in := range n.Inputs {
			used[in.Node] = true
		}
		if ends[n] {
			continue
		}
		for _, c := range n.Control {
			used[c] = true
		}
	}
	return used
}

// arguments are the nodes that stand for a function's arguments.
type arguments map[*graph.Node]bool

// inputs returns the inputs of a node. Control inputs from arguments are left out: their values exist from the start.
func (a arguments) inputs(n *graph.Node) (all []string) {
	for _, in := range n.Inputs {
		all = append(all, a.input(in))
	}
	for _, c := range n.Control {
		if !a[c] {
			all = append(all, "^"+c.Name)
		}
	}
	return all
}

// input is "node:output:index", or the name of an argument.
func (a arguments) input(o graph.Output) string {
	if a[o.Node] {
		return o.Node.Name
	}
	name, index := outputName(o)
	return fmt.Sprintf("%s:%s:%d", o.Node.Name, name, index)
}

// outputName returns the name of an op's output and the index within it.
func outputName(o graph.Output) (string, int) {
	if strings.HasSuffix(o.Node.Op, "Recv") {
		return "tensor", 0
	}
	at := 0
	def := ops.Find(o.Node.Op)
	if def == nil {
		return "output", o.Index
	}
	for _, out := range def.Outputs() {
		size := 1
		if list, ok := o.Node.Attrs[out.TypeAttr].([]tensor.DType); ok && out.List {
			size = len(list)
		} else if out.Count != "" {
			size = o.Node.Int(out.Count, 0)
		}
		if o.Index < at+size {
			return out.Name, o.Index - at
		}
		at += size
	}
	return "output", o.Index
}
