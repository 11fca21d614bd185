package eagerservice

import (
	"context"
	"fmt"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/session/inline"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// plan is a function prepared for arguments on certain devices.
type plan struct {
	types   []tensor.DType // of the arguments
	results int
	local   *worker.Graph   // nil if nothing runs in this task
	parts   []part          // for other tasks
	calls   map[string]bool // names of the functions from which it was made
}

// part is the part of a function for another task.
type part struct {
	task    task
	name    string // under which it is registered there
	args    []int  // indices of its arguments
	results []int  // indices of the results that stay there
}

// planOf finds the plan of a function for arguments, or makes it.
func (c *clientContext) planOf(ctx context.Context, name string, args []argument) (*plan, error) {
	key := name
	for i, a := range args {
		if a.remote != nil {
			key += fmt.Sprintf("\x00%d %s", i, placeOf(a.remote))
		}
	}
	// The function is looked up after the cache knows of the plan, so that removing the function also removes the plan.
	return c.plans.get(ctx, key, func() (*plan, error) { return c.paidPlan(ctx, name, args) })
}

// paidPlan makes a plan, which is paid for as long as it is used.
func (c *clientContext) paidPlan(ctx context.Context, name string, args []argument) (*plan, error) {
	r, err := c.functions.get(name)
	if err != nil {
		return nil, err
	}
	if want := len(r.def.GetSignature().GetInputArg()); len(args) != want {
		return nil, wrongCount(name, want, len(args))
	}
	library := c.functions.library(r)
	cost := functionCost * proto.Size(library)
	if err := c.payer.Account.ReserveModel(cost); err != nil {
		return nil, err
	}
	p, err := c.makePlan(ctx, r, library, args)
	if err != nil {
		c.payer.Account.ReleaseModel(cost)
		return nil, err
	}
	budget.Lend(c.payer.Account, p, cost)
	return p, nil
}

func wrongCount(name string, want, got int) error {
	return status.Errorf(codes.InvalidArgument, "function %q takes %d arguments, got %d", name, want, got)
}

// makePlan divides a function and registers its parts.
func (c *clientContext) makePlan(ctx context.Context, r registered, library *function_go_proto.FunctionDefLibrary, args []argument) (*plan, error) {
	name := r.def.GetSignature().GetName()
	flat, err := inline.Function(library, name, r.part)
	if err != nil {
		return nil, err
	}
	def := flat.Graph
	if !r.part { // branches and loops may be divided, too
		lowered, err := inline.Lower(def)
		if err != nil {
			return nil, err
		}
		def = lowered.Graph
	}
	g, err := graphdef.FromGraphDef(def)
	if err != nil {
		return nil, err
	}
	p := &plan{calls: map[string]bool{}}
	for _, f := range library.GetFunction() {
		p.calls[f.GetSignature().GetName()] = true
	}
	for i, arg := range flat.Args {
		n := g.Node(arg)
		p.types = append(p.types, n.Outputs[0].DType)
		n.Device = c.own.Name.String()
		if args[i].remote != nil {
			n.Device = placeOf(args[i].remote)
		}
	}
	end := g.Node(flat.Result)
	p.results = len(end.Inputs)
	targets, err := c.addRetvals(g, end)
	if err != nil {
		return nil, err
	}
	if r.part { // it belongs to one task, which runs all of it, even in loops
		end.Control = nil
		p.local, err = prepareGraph(g)
		return p, err
	}
	return p, c.divide(ctx, p, g, targets)
}

// addRetvals adds nodes for the inputs of end, and returns all targets of a run. Tensors are sent to this task; resources stay where they are.
func (c *clientContext) addRetvals(g *graph.Graph, end *graph.Node) (targets []string, err error) {
	for i, o := range end.Inputs {
		at := c.own.Name.String()
		if t := o.DType(); t == tensor.Resource || t == tensor.Variant {
			at = ""
		}
		name := retvalName(g, i)
		if err := addRetval(g, o, i, at); err != nil {
			return nil, err
		}
		targets = append(targets, name)
	}
	for _, n := range end.Control {
		targets = append(targets, n.Name)
	}
	return targets, nil
}

// divide makes the parts of a function.
func (c *clientContext) divide(ctx context.Context, p *plan, g *graph.Graph, targets []string) error {
	peers, devices := c.cluster()
	parts, err := partition.Divide(g, partition.Request{Targets: targets}, partition.Cluster{Devices: devices, Client: c.own, Soft: true})
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	for _, d := range parts {
		if taskOf(d.Task) == taskOf(c.own.Name) {
			if p.local, err = prepareGraph(d.Graph); err != nil {
				return err
			}
			continue
		}
		at, err := c.register(ctx, peers, d)
		if err != nil {
			return err
		}
		p.parts = append(p.parts, at)
		c.elsewhere.add(at, p)
	}
	return nil
}

// check returns an error for arguments that do not fit the plan.
func (p *plan) check(name string, args []argument) error {
	if len(args) != len(p.types) {
		return wrongCount(name, len(p.types), len(args))
	}
	for i, a := range args {
		if t := a.dtype(); t != p.types[i] && (a.value.T != nil || a.remote != nil || p.types[i] != tensor.Variant) {
			return status.Errorf(codes.InvalidArgument, "function %q: argument %d is of type %v, expected %v", name, i, t, p.types[i])
		}
	}
	return nil
}
