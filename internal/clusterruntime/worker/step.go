package worker

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/goestimator/goestimator/internal/clusterruntime/device"
	"github.com/goestimator/goestimator/internal/clusterruntime/rendezvous"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
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

// errCleaned ends nodes that still wait when a step is over.
var errCleaned = status.Error(codes.Aborted, "the step is over: it was cleaned up")

// step is a step in which this worker takes part.
type step struct {
	table *rendezvous.Table
	users int  // calls that use it
	ran   bool // a graph ran in it: it stays until it is cleaned up

	session string   // whose graph ran in it
	partial *partial // nil if the step is not a partial run
}

// end ends waiting in a step with err.
func (s *step) end(err error) {
	s.table.Abort(err)
	if s.partial != nil {
		s.partial.cancel(err)
	}
}

// use returns the step with that number. It may be new: a receiver may come before the sender.
func (w *Worker) use(id int64, runs bool) (*rendezvous.Table, func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, err := w.enterStep(id, runs)
	if err != nil {
		return nil, nil, err
	}
	return s.table, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leaveStep(id, s)
	}, nil
}

// enterStep returns the step with that number for a call, which must leave it. The mutex is held.
func (w *Worker) enterStep(id int64, runs bool) (*step, error) {
	s := w.steps[id]
	if s == nil {
		if err := w.room(); err != nil {
			return nil, err
		}
		s = &step{table: rendezvous.New()}
		w.steps[id] = s
	}
	s.users++
	s.ran = s.ran || runs
	return s, nil
}

// leaveStep ends the use of a step. A step in which nothing ran is then removed. The mutex is held.
func (w *Worker) leaveStep(id int64, s *step) {
	if s.users--; s.users == 0 && !s.ran && w.steps[id] == s {
		delete(w.steps, id)
	}
}

func (w *Worker) cleanupGraph(_ context.Context, in *rpcs.CleanupGraphRequest) (*rpcs.CleanupGraphResponse, error) {
	w.EndStep(in.GetStepId(), errCleaned)
	return &rpcs.CleanupGraphResponse{}, nil
}

// runGraph runs a registered graph once with the values sent, and answers with the requested ones.
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
	v, err := w.visit(in)
	if err != nil {
		return nil, err
	}
	defer w.leaveVisit(v)
	sent, err := decode(in.GetSend(), v.graph.payer)
	if err != nil {
		return nil, err
	}
	m := w.meet(v)
	at := w.step(v.graph, v.resources, m)
	if in.GetIsPartial() {
		return w.runPart(ctx, in, partialCall{v, at, sent})
	}
	m.sent, m.wanted = inboxOf(sent), wanted(in.GetRecvKey())
	var seen trace
	seen.observe(at.Env, in.GetExecOpts())
	if err := v.graph.program.Run(ctx, at); err != nil {
		if v.step != nil {
			v.step.table.Abort(StatusOf(err))
		}
		return nil, err
	}
	out, err := m.answer()
	if err == nil {
		err = seen.report(out, v.graph, in.GetExecOpts())
	}
	return out, err
}

// decode reads the values that the caller of a run sends.
func decode(feeds []*for_core_protos_go_proto.NamedTensorProto, payer eager.Payer) ([]letter, error) {
	all := make([]letter, len(feeds))
	for i, feed := range feeds {
		t, err := payer.Make(decodedSize(feed.GetTensor()), func() (*tensor.Tensor, error) { return graphdef.ViewTensorProto(feed.GetTensor(), nil) })
		if err != nil && isShortage(err) {
			return nil, err
		}
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "feed %q: %v", feed.GetName(), err)
		}
		all[i] = letter{feed.GetName(), rendezvous.Item{Tensor: t}, true}
	}
	return all, nil
}

// named returns a value in the form for the caller of a run.
func named(key string, item rendezvous.Item) (*for_core_protos_go_proto.NamedTensorProto, error) {
	if item.Dead {
		return nil, status.Errorf(codes.InvalidArgument, "The tensor returned for %s was not valid.", edgeOf(key))
	}
	t, err := graphdef.ToTensorProto(item.Tensor, true)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return &for_core_protos_go_proto.NamedTensorProto{Name: key, Tensor: t}, nil
}

func edgeOf(key string) string {
	k, err := rendezvous.ParseKey(key)
	if err != nil {
		return key
	}
	return k.Edge
}

// recvTensor sends a tensor to the worker that asks for it, once it is available.
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
	switch {
	case item.Dead:
	case item.Tensor.DType == tensor.Variant:
		out.Tensor = graphdef.ToVariantProto(item.Tensor)
	default:
		if out.Tensor, err = graphdef.ToTensorProto(item.Tensor, true); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	return out, nil
}

// incarnation returns the incarnation of the worker's device with a name. Sessions' clusters may give its task other names.
func (w *Worker) incarnation(n device.Name) (uint64, bool) {
	for _, d := range w.devices {
		if own, err := device.Parse(d.GetName()); err == nil && own.Type == n.Type && own.ID == n.ID {
			return d.GetIncarnation(), true
		}
	}
	return 0, false
}

// StatusOf gives an error a gRPC status, with TensorFlow's codes.
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
