package eagerservice

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	"github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// runComponentFunction runs a part of a function that another task has divided.
func (s *Service) runComponentFunction(ctx context.Context, in *rpcs.RunComponentFunctionRequest) (*rpcs.RunComponentFunctionResponse, error) {
	c, done, err := s.find(in.GetContextId())
	if err != nil {
		return nil, err
	}
	defer done()
	o := in.GetOperation()
	if !o.GetIsFunction() || !o.GetIsComponentFunction() {
		return nil, status.Error(codes.Internal, "RunComponentFunction request can only be used to execute component functions.")
	}
	ctx, end := c.bound(ctx)
	defer end()
	results, err := c.execute(ctx, o)
	if err != nil {
		c.worker.FailStep(o.GetFuncStepId(), worker.StatusOf(err))
		return nil, worker.StatusOf(err)
	}
	numbers := in.GetOutputNum()
	if len(numbers) > 0 && len(numbers) != len(results) {
		return nil, status.Errorf(codes.InvalidArgument, "function %q has %d results, got %d numbers for them", o.GetName(), len(results), len(numbers))
	}
	out := &rpcs.RunComponentFunctionResponse{}
	out.Shape, out.Tensor, err = c.keep(o.GetId(), numbers, results)
	return out, err
}

// register makes a part of a function known to the task that is to run it.
func (c *clientContext) register(ctx context.Context, peers *peers, d partition.Part) (part, error) {
	p := part{task: taskOf(d.Task), name: "part_" + rand.Text()}
	def, err := p.function(d.Graph)
	if err != nil {
		return p, err
	}
	to, err := peers.eager(p.task)
	if err != nil {
		return p, err
	}
	in := &rpcs.RegisterFunctionOp{FunctionDef: def, IsComponentFunction: true, Library: &function_go_proto.FunctionDefLibrary{}}
	if err := proto.Unmarshal(d.Graph.Library, in.Library); err != nil {
		return p, err
	}
	_, err = service.Ask[rpcs.EnqueueResponse](ctx, to, "Enqueue", &rpcs.EnqueueRequest{ContextId: c.id, Queue: []*rpcs.QueueItem{{Item: &rpcs.QueueItem_RegisterFunction{RegisterFunction: in}}}})
	return p, err
}

// function makes a function of a part's graph, and notes the arguments and results.
func (p *part) function(g *graph.Graph) (*function_go_proto.FunctionDef, error) {
	gd, err := graphdef.ToGraphDef(g)
	if err != nil {
		return nil, err
	}
	sig := &op_def_go_proto.OpDef{Name: p.name, IsStateful: true}
	def := &function_go_proto.FunctionDef{Signature: sig, Ret: map[string]string{}, ControlRet: map[string]string{}}
	used := usedNodes(g)
	for i, n := range g.Nodes() {
		t, _ := n.Attrs["T"].(tensor.DType)
		arg := &op_def_go_proto.OpDef_ArgDef{Name: n.Name, Type: types_go_proto.DataType(t)}
		switch n.Op {
		case "_Arg":
			p.args = append(p.args, n.Int("index", 0))
			sig.InputArg = append(sig.InputArg, arg)
		case "_Retval":
			p.results = append(p.results, n.Int("index", 0))
			sig.OutputArg = append(sig.OutputArg, arg)
			def.Ret[n.Name] = functionInput(n.Inputs[0])
		default:
			gd.Node[i].Input = functionInputs(n)
			def.NodeDef = append(def.NodeDef, gd.Node[i])
			if !used[n] { // it runs, although no result needs it
				def.ControlRet[n.Name] = n.Name
				sig.ControlOutput = append(sig.ControlOutput, n.Name)
			}
		}
	}
	return def, nil
}

// usedNodes returns the nodes that others follow.
func usedNodes(g *graph.Graph) map[*graph.Node]bool {
	used := map[*graph.Node]bool{}
	for _, n := range g.Nodes() {
		for _, in := range n.Inputs {
			used[in.Node] = true
		}
		for _, c := range n.Control {
			used[c] = true
		}
	}
	return used
}

// functionInputs returns the inputs of a node as functions state them. Arguments are there from the beginning: nothing waits for them.
func functionInputs(n *graph.Node) (all []string) {
	for _, in := range n.Inputs {
		all = append(all, functionInput(in))
	}
	for _, c := range n.Control {
		if c.Op != "_Arg" {
			all = append(all, "^"+c.Name)
		}
	}
	return all
}

// functionInput is "node:output:index", or the name of an argument.
func functionInput(o graph.Output) string {
	if o.Node.Op == "_Arg" {
		return o.Node.Name
	}
	name, index := outputName(o)
	return fmt.Sprintf("%s:%s:%d", o.Node.Name, name, index)
}

// outputName returns the name of an op's output and the place within it.
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
