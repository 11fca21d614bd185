package eagerservice

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/clusterruntime/worker"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// call runs a function.
func (c *clientContext) call(ctx context.Context, in *rpcs.Operation, name string, args []argument) ([]result, error) {
	p, err := c.planOf(ctx, name, args)
	if err != nil {
		return nil, err
	}
	if err := p.check(name, args); err != nil {
		return nil, err
	}
	r := &run{c: c, p: p, op: in, args: args, values: make([]eager.Value, p.results), elsewhere: map[int]result{}}
	r.peers, _ = c.cluster()
	if in.GetIsComponentFunction() { // the task that divided the function ends the step
		r.step = in.GetFuncStepId()
		if err := r.local(ctx); err != nil {
			return nil, err
		}
		return r.results()
	}
	r.step = rand.Int64()
	err = r.all(ctx)
	c.worker.EndStep(r.step, errOver)
	r.cleanUp()
	if err != nil {
		return nil, err
	}
	return r.results()
}

// errOver ends nodes that still wait in the step of a function.
var errOver = status.Error(codes.Aborted, "the function is over: its step was cleaned up")

// run is one run of a function.
type run struct {
	c     *clientContext
	p     *plan
	op    *rpcs.Operation
	args  []argument
	peers *peers
	step  int64

	values []eager.Value // results that are in this task

	mu        sync.Mutex
	elsewhere map[int]result
	err       error // the first one
}

// all runs all parts. The first error ends the others.
func (r *run) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	fail := func(err error) {
		r.mu.Lock()
		first := err != nil && r.err == nil
		if first {
			r.err = err
		}
		r.mu.Unlock()
		if first {
			r.c.worker.FailStep(r.step, worker.StatusOf(err))
			cancel(worker.StatusOf(err))
		}
	}
	var others sync.WaitGroup
	for i := range r.p.parts {
		others.Go(func() { fail(r.remote(ctx, &r.p.parts[i])) })
	}
	fail(r.local(ctx))
	others.Wait()
	return r.err
}

// local runs this task's part.
func (r *run) local(ctx context.Context) error {
	if r.p.local == nil {
		return nil
	}
	call := worker.Call{Step: r.step, Peers: r.peers, Payer: r.c.payer, Args: make([]eager.Value, len(r.args)), Results: r.values}
	for i, a := range r.args {
		call.Args[i] = a.value
	}
	return r.c.worker.Run(ctx, r.p.local, call)
}

// remote runs the part of another task. Its results stay there, under the number of the whole function.
func (r *run) remote(ctx context.Context, p *part) error {
	op := &rpcs.Operation{Id: invalidID, Name: p.name, Device: p.task.cpu(), IsFunction: true, IsComponentFunction: true, FuncStepId: r.step}
	in := &rpcs.RunComponentFunctionRequest{ContextId: r.c.id, Operation: op}
	for _, i := range p.args {
		if r.args[i].remote == nil {
			return status.Errorf(codes.Unimplemented, "argument %d of function %q is here, and an op takes it together with what is on %s: expected both on one task", i, r.op.GetName(), p.task)
		}
		op.OpInputs = append(op.OpInputs, &rpcs.Operation_Input{Item: &rpcs.Operation_Input_RemoteHandle{RemoteHandle: r.args[i].remote}})
	}
	for _, i := range p.results {
		op.Id = r.op.GetId()
		in.OutputNum = append(in.OutputNum, int32(i))
	}
	to, err := r.peers.eager(p.task)
	if err != nil {
		return err
	}
	out, err := service.Ask[rpcs.RunComponentFunctionResponse](ctx, to, "RunComponentFunction", in)
	if err != nil {
		return err
	}
	if len(p.results) > 0 && len(out.GetShape()) != len(p.results) {
		return status.Errorf(codes.Internal, "part %s of the function on %s: expected %d results, got %d", p.name, p.task, len(p.results), len(out.GetShape()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, i := range p.results {
		r.elsewhere[i] = result{device: p.task.cpu(), shape: orScalar(out.GetShape()[k])}
	}
	return nil
}

func orScalar(s *tensor_shape_go_proto.TensorShapeProto) *tensor_shape_go_proto.TensorShapeProto {
	if s == nil {
		return &tensor_shape_go_proto.TensorShapeProto{}
	}
	return s
}

// results are the results of all parts.
func (r *run) results() ([]result, error) {
	out := make([]result, len(r.values))
	for i, v := range r.values {
		there, ok := r.elsewhere[i]
		switch {
		case ok:
			out[i] = there
		case v.T == nil && v.Resource == nil:
			return nil, noValue(i)
		default:
			out[i] = result{value: v, device: r.c.own.Name.String()}
		}
	}
	return out, nil
}

// cleanUpWithin is how long another task may take to end a step.
const cleanUpWithin = 10 * time.Second

// cleanUp ends the step in the other tasks. The client does not wait for it.
func (r *run) cleanUp() {
	for i := range r.p.parts {
		at := r.p.parts[i].task
		to, err := r.peers.eager(at)
		if err != nil {
			continue
		}
		if !r.c.begin() {
			return
		}
		go func() {
			defer r.c.ending.Done()
			ctx, cancel := context.WithTimeoutCause(r.c.ctx, cleanUpWithin, errors.New("no answer"))
			defer cancel()
			item := &rpcs.QueueItem{Item: &rpcs.QueueItem_CleanupFunction{CleanupFunction: &rpcs.CleanupFunctionOp{StepId: r.step}}}
			// A task that cannot be reached has no step.
			_, _ = service.Ask[rpcs.EnqueueResponse](ctx, to, "Enqueue", &rpcs.EnqueueRequest{ContextId: r.c.id, Queue: []*rpcs.QueueItem{item}})
			forget(ctx, to, r.c.id, r.c.elsewhere.unneeded(at))
		}()
	}
}
