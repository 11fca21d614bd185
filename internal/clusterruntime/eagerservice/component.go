package eagerservice

import (
	"context"
	"crypto/rand"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
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
	step := o.GetFuncStepId()
	c.steps.add(step)
	results, err := c.execute(ctx, o)
	if err != nil {
		c.worker.FailStep(step, worker.StatusOf(err))
	}
	if !c.steps.has(step) { // it was ended meanwhile
		c.worker.EndStep(step, errOver)
	}
	if err != nil {
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

// register registers a part of a function with the task that will run it.
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

// function makes a function from a part's graph, and records its arguments and results.
func (p *part) function(g *graph.Graph) (*function_go_proto.FunctionDef, error) {
	f := graphdef.Function{Name: p.name}
	for _, n := range g.Nodes() {
		switch n.Op {
		case "_Arg":
			p.args = append(p.args, n.Int("index", 0))
			f.Args = append(f.Args, n)
		case "_Retval":
			p.results = append(p.results, n.Int("index", 0))
			f.Ends = append(f.Ends, n)
		}
	}
	return graphdef.ToFunctionDef(g, f)
}
