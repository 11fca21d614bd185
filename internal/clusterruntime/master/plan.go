package master

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/platform/budget"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// plan is a graph whose parts are registered with their workers.
type plan struct {
	session string
	created bool // the workers were asked to create the session
	parts   []part
	account *budget.Account // pays for fetches from other tasks
}

// part is the part of one worker.
type part struct {
	worker  service.Caller
	far     bool // the worker is another task
	cleaner *cleaner
	handle  string
	feeds   map[string]string // rendezvous keys by name
	fetches map[string]string // names by rendezvous key
	keys    []string          // of fetches
}

// register registers each part with its worker.
func (s *session) register(ctx context.Context, parts []partition.Part) (*plan, error) {
	p := &plan{session: s.handle, created: s.created, account: s.account}
	for _, q := range parts {
		w, err := s.workers.Worker(q.Task.Job, q.Task.Task)
		if err != nil {
			p.deregister()
			return nil, err
		}
		def, err := graphdef.ToGraphDef(q.Graph)
		if err != nil {
			p.deregister()
			return nil, status.Error(codes.Internal, err.Error())
		}
		out, err := service.Ask[rpcs.RegisterGraphResponse](ctx, w, "RegisterGraph", &rpcs.RegisterGraphRequest{SessionHandle: s.handle, CreateWorkerSessionCalled: s.created, GraphDef: def,
			GraphOptions: &for_core_protos_go_proto.GraphOptions{}, DebugOptions: &for_core_protos_go_proto.DebugOptions{}, ConfigProto: &for_core_protos_go_proto.ConfigProto{}})
		if err != nil {
			p.deregister()
			return nil, err
		}
		at := Task{q.Task.Job, q.Task.Task}
		r := part{worker: w, far: at != s.own, cleaner: s.cleanerOf(at, w), handle: out.GetGraphHandle(), feeds: q.Feeds, fetches: map[string]string{}}
		for name, key := range q.Fetches {
			r.fetches[key] = name
			r.keys = append(r.keys, key)
		}
		p.parts = append(p.parts, r)
	}
	return p, nil
}

// deregister removes the parts from their workers. A worker that is gone has forgotten them anyway.
func (p *plan) deregister() {
	p.each(func(ctx context.Context, q part) {
		_, _ = service.Ask[rpcs.DeregisterGraphResponse](ctx, q.worker, "DeregisterGraph", &rpcs.DeregisterGraphRequest{GraphHandle: q.handle, SessionHandle: p.session, CreateWorkerSessionCalled: p.created})
	})
}

// each cleans up at all workers at the same time. A worker that does not answer is left alone after a while.
func (p *plan) each(do func(ctx context.Context, q part)) {
	ctx, cancel := afterwards()
	defer cancel()
	var done sync.WaitGroup
	for _, q := range p.parts[min(1, len(p.parts)):] {
		done.Go(func() { do(ctx, q) })
	}
	if len(p.parts) > 0 {
		do(ctx, p.parts[0])
	}
	done.Wait()
}

// call has the arguments for the parts of a step.
type call struct {
	step    int64
	feeds   *values
	fetches map[string]bool // of a partial run; nil: all
	last    bool            // of a partial run
	options *for_core_protos_go_proto.RunOptions
	made    *for_core_protos_go_proto.RunMetadata // collects the results that the options ask for
}

// run runs all parts once and returns the fetches.
func (p *plan) run(ctx context.Context, c call) (*values, error) {
	c.step = newStep()
	fetched, err := p.all(ctx, c)
	p.cleanup(c.step, err != nil)
	return fetched, err
}

// newStep draws the number of a step, with the bits that TensorFlow uses.
func newStep() int64 { return rand.Int64() & (1<<57 - 1) }

// all runs all parts and returns the fetches. The first error ends the other parts.
func (p *plan) all(ctx context.Context, c call) (*values, error) {
	fetched := &values{}
	if len(p.parts) == 1 {
		out, err := p.parts[0].run(ctx, p, c)
		c.collect(p.parts[0], out, fetched)
		return fetched, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu    sync.Mutex
		first error
		done  sync.WaitGroup
	)
	one := func(q part) {
		out, err := q.run(ctx, p, c)
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			first = err
			cancel(err)
		}
		c.collect(q, out, fetched)
	}
	for _, q := range p.parts[min(1, len(p.parts)):] {
		done.Go(func() { one(q) })
	}
	if len(p.parts) > 0 {
		runtime.Gosched() // so that calls to other tasks are sent first
		one(p.parts[0])
	}
	done.Wait()
	return fetched, first
}

// collect adds the answer of a part.
func (c call) collect(q part, out *rpcs.RunGraphResponse, fetched *values) {
	c.note(out)
	for _, t := range out.GetRecv() {
		fetched.add(q.fetches[t.GetName()], t.GetTensor())
	}
}

// run runs a part in a step.
func (q part) run(ctx context.Context, p *plan, c call) (*rpcs.RunGraphResponse, error) {
	in := &rpcs.RunGraphRequest{GraphHandle: q.handle, StepId: c.step, RecvKey: q.keys, ExecOpts: c.execution(), SessionHandle: p.session, CreateWorkerSessionCalled: p.created, StoreErrorsInResponseBody: true,
		IsPartial: c.fetches != nil, IsLastPartialRun: c.last}
	if c.fetches != nil {
		in.RecvKey = slices.DeleteFunc(slices.Clone(q.keys), func(key string) bool { return !c.fetches[q.fetches[key]] })
	}
	for name, key := range q.feeds {
		t := c.feeds.get(name)
		if t == nil && c.fetches != nil {
			continue
		}
		if t == nil {
			return nil, status.Errorf(codes.InvalidArgument, "feed %q has no value", name)
		}
		in.Send = append(in.Send, &for_core_protos_go_proto.NamedTensorProto{Name: key, Tensor: t})
	}
	in.CleanupStepId = q.cleaner.take()
	out, err := service.Ask[rpcs.RunGraphResponse](ctx, q.worker, "RunGraph", in)
	if err != nil {
		q.cleaner.again(in.CleanupStepId)
	}
	if out.GetCleansUp() {
		q.cleaner.reads.Store(true)
	}
	if err == nil && out.GetStatusCode() != 0 {
		err = status.Error(codes.Code(out.GetStatusCode()), out.GetStatusErrorMessage())
	}
	if err == nil && q.far {
		err = p.pay(out)
	}
	return out, err
}

// leastPaid is the size in bytes from which on fetches are paid for, as tensors are.
const leastPaid = 4 << 10

// pay pays for fetches from another task as long as something refers to them.
func (p *plan) pay(out *rpcs.RunGraphResponse) error {
	for _, t := range out.GetRecv() {
		content := t.GetTensor().GetTensorContent()
		if len(content) < leastPaid {
			continue
		}
		if err := p.account.ReserveModel(len(content)); err != nil {
			return err
		}
		budget.Lend(p.account, &content[0], len(content))
	}
	return nil
}

// cleanup ends a step on the workers that took part; with now, at once.
func (p *plan) cleanup(step int64, now bool) {
	for _, q := range p.parts {
		q.cleaner.add(step, now)
	}
}
