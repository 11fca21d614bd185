package worker

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/clusterruntime/service"
	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/eager"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errCleaned ends what still waits when a step is over.
var errCleaned = status.Error(codes.Aborted, "the step is over: it was cleaned up")

// step is a step that this worker takes part in.
type step struct {
	table *rendezvous.Table
	users int  // calls that use it
	ran   bool // a graph ran in it: it stays until it is cleaned up

	partial *partial // nil where the step is not run part by part
}

// end ends what waits in a step with err.
func (s *step) end(err error) {
	s.table.Abort(err)
	if s.partial != nil {
		s.partial.cancel(err)
	}
}

// use returns the step of that number. It may be new: who receives may come before what sends.
func (w *Worker) use(id int64, runs bool) (*rendezvous.Table, func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.steps[id]
	if s == nil {
		if err := w.room(); err != nil {
			return nil, nil, err
		}
		s = &step{table: rendezvous.New()}
		w.steps[id] = s
	}
	s.users++
	s.ran = s.ran || runs
	return s.table, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if s.users--; s.users == 0 && !s.ran && w.steps[id] == s {
			delete(w.steps, id)
		}
	}, nil
}

func (w *Worker) cleanupGraph(_ context.Context, in *rpcs.CleanupGraphRequest) (*rpcs.CleanupGraphResponse, error) {
	w.EndStep(in.GetStepId(), errCleaned)
	return &rpcs.CleanupGraphResponse{}, nil
}

// runGraph runs a registered graph once, on what is sent, and answers what it is asked for.
func (w *Worker) runGraph(ctx context.Context, in *rpcs.RunGraphRequest) (*rpcs.RunGraphResponse, error) {
	for _, over := range in.GetCleanupStepId() {
		w.EndStep(int64(over), errCleaned)
	}
	out, err := w.run(ctx, in)
	if err == nil {
		out.CleansUp = true
		return out, nil
	}
	if !in.GetStoreErrorsInResponseBody() {
		return nil, StatusOf(err)
	}
	s := status.Convert(StatusOf(err))
	return &rpcs.RunGraphResponse{StatusCode: int32(s.Code()), StatusErrorMessage: s.Message()}, nil
}

func (w *Worker) run(ctx context.Context, in *rpcs.RunGraphRequest) (*rpcs.RunGraphResponse, error) {
	p, over, err := w.begin(in.GetGraphHandle())
	if err != nil {
		return nil, err
	}
	defer over()
	session, err := w.known(p.session, in.GetCreateWorkerSessionCalled())
	if err != nil {
		return nil, err
	}
	table, release, err := w.use(in.GetStepId(), true)
	if err != nil {
		return nil, err
	}
	defer release()
	for _, feed := range in.GetSend() {
		t, err := p.payer.Make(decodedSize(feed.GetTensor()), func() (*tensor.Tensor, error) { return graphdef.ViewTensorProto(feed.GetTensor(), nil) })
		if err != nil && isShortage(err) {
			return nil, err
		}
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "feed %q: %v", feed.GetName(), err)
		}
		if err := table.Send(feed.GetName(), rendezvous.Item{Tensor: t}); err != nil {
			return nil, err
		}
	}
	at := w.step(p, w.meet(session, in.GetStepId(), table, p.payer))
	if in.GetIsPartial() {
		r, err := w.partial(in.GetStepId(), p, at, func(err error) { table.Abort(StatusOf(err)) })
		if err != nil {
			return nil, err
		}
		return r.answer(ctx, in, func(ended context.Context) (*rpcs.RunGraphResponse, error) {
			return fetch(ended, table, in.GetRecvKey())
		})
	}
	var seen trace
	seen.observe(at.Env, in.GetExecOpts())
	if err := p.program.Run(ctx, at); err != nil {
		table.Abort(StatusOf(err))
		return nil, err
	}
	ended, end := context.WithCancelCause(context.Background())
	end(errEnded)
	out, err := fetch(ended, table, in.GetRecvKey())
	if err == nil {
		err = seen.report(out, p, in.GetExecOpts())
	}
	return out, err
}

// fetch takes what a run makes for its caller. What is not there when the run has ended will not come.
func fetch(ended context.Context, table *rendezvous.Table, keys []string) (*rpcs.RunGraphResponse, error) {
	out := &rpcs.RunGraphResponse{}
	for _, key := range keys {
		item, err := table.Recv(ended, key)
		if errors.Is(err, errEnded) {
			return nil, status.Errorf(codes.InvalidArgument, "the graph sent nothing as %q", key)
		}
		if err != nil {
			return nil, err
		}
		if item.Dead {
			return nil, status.Errorf(codes.InvalidArgument, "The tensor returned for %s was not valid.", edgeOf(key))
		}
		t, err := graphdef.ToTensorProto(item.Tensor, true)
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		out.Recv = append(out.Recv, &for_core_protos_go_proto.NamedTensorProto{Name: key, Tensor: t})
	}
	return out, nil
}

func edgeOf(key string) string {
	k, err := rendezvous.ParseKey(key)
	if err != nil {
		return key
	}
	return k.Edge
}

// recvTensor sends a tensor to the worker that asks for it, when it is there.
func (w *Worker) recvTensor(ctx context.Context, in *rpcs.RecvTensorRequest) (*rpcs.RecvTensorResponse, error) {
	key, err := rendezvous.ParseKey(in.GetRendezvousKey())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	from, err := device.Parse(key.From)
	own, ok := w.incarnation(from)
	if err != nil || !ok {
		return nil, status.Errorf(codes.InvalidArgument, "rendezvous key %q: expected a device of %s as sender", in.GetRendezvousKey(), w.devices[0].GetName())
	}
	if key.Incarnation != own {
		return nil, status.Errorf(codes.Aborted, "RecvTensor expects a different device incarnation: %d vs. %d. Your worker job (%q) was probably restarted. Check your worker job for the reason why it was restarted.",
			key.Incarnation, own, from.Job)
	}
	waited, err := w.wait()
	if err != nil {
		return nil, err
	}
	defer waited()
	table, release, err := w.use(in.GetStepId(), false)
	if err != nil {
		return nil, err
	}
	defer release()
	item, err := table.Recv(ctx, in.GetRendezvousKey())
	if err != nil {
		return nil, StatusOf(err)
	}
	out := &rpcs.RecvTensorResponse{IsDead: item.Dead}
	if !item.Dead {
		if out.Tensor, err = graphdef.ToTensorProto(item.Tensor, true); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return out, nil
}

// incarnation returns that of the worker's device with a name. Clusters of sessions may give its task other names.
func (w *Worker) incarnation(n device.Name) (uint64, bool) {
	for _, d := range w.devices {
		if own, err := device.Parse(d.GetName()); err == nil && own.Type == n.Type && own.ID == n.ID {
			return d.GetIncarnation(), true
		}
	}
	return 0, false
}

// meeting is the rendezvous of a step: the table of this worker, and the workers that other senders are on.
type meeting struct {
	own   device.Name // the task of this worker
	peers Peers
	step  int64
	table *rendezvous.Table
	payer eager.Payer
}

// meet returns the rendezvous of a step of a session, nil for one that has nothing of its own.
func (w *Worker) meet(s *opened, step int64, table *rendezvous.Table, payer eager.Payer) meeting {
	if s == nil {
		return meeting{w.task, w.peers, step, table, payer}
	}
	return meeting{s.task, s.peers, step, table, payer}
}

// Send implements dataflow.Rendezvous. The receiver asks for the item where it is elsewhere.
func (m meeting) Send(key rendezvous.Key, item rendezvous.Item) error {
	return m.table.Send(key.String(), item)
}

// Recv implements dataflow.Rendezvous.
func (m meeting) Recv(ctx context.Context, key rendezvous.Key) (rendezvous.Item, error) {
	from, err := device.Parse(key.From)
	if err != nil {
		return rendezvous.Item{}, err
	}
	if m.own.Job == from.Job && m.own.Task == from.Task {
		return m.table.Recv(ctx, key.String())
	}
	peer, err := m.peers.Worker(from.Job, from.Task)
	if err != nil {
		return rendezvous.Item{}, err
	}
	out, err := service.Ask[rpcs.RecvTensorResponse](ctx, peer, "RecvTensor", &rpcs.RecvTensorRequest{StepId: m.step, RendezvousKey: key.String(), DmaOk: true})
	if err != nil {
		return rendezvous.Item{}, err
	}
	if out.GetIsDead() {
		return rendezvous.Item{Dead: true}, nil
	}
	t, err := m.payer.Make(decodedSize(out.GetTensor()), func() (*tensor.Tensor, error) { return graphdef.ViewTensorProto(out.GetTensor(), nil) })
	return rendezvous.Item{Tensor: t}, err
}

// StatusOf gives an error a status of gRPC. The codes are TensorFlow's for what happened.
func StatusOf(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	code := codes.InvalidArgument
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{eager.ErrUninitialized, codes.FailedPrecondition}, {eager.ErrUnsupported, codes.Unimplemented}, {eager.ErrLimit, codes.ResourceExhausted}, {eager.ErrRange, codes.OutOfRange}, {fs.ErrNotExist, codes.NotFound}, {fs.ErrPermission, codes.PermissionDenied},
		{bundle.ErrNotFound, codes.NotFound}, {syscall.ENOTDIR, codes.FailedPrecondition},
		{queue.ErrCancelled, codes.Canceled}, {queue.ErrOutOfRange, codes.OutOfRange}, {queue.ErrLimit, codes.ResourceExhausted},
		{dataset.ErrUnset, codes.FailedPrecondition}, {dataset.ErrLimit, codes.ResourceExhausted}, {dataset.ErrClosed, codes.Canceled}, {dataset.ErrRange, codes.OutOfRange}, {dataset.ErrDataLoss, codes.DataLoss}, {dataset.ErrPrecondition, codes.FailedPrecondition},
		{context.Canceled, codes.Canceled}, {context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		if errors.Is(err, c.err) {
			code = c.code
		}
	}
	return status.Error(code, err.Error())
}
