package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// client is a task that has a Server.
type client struct {
	node cluster.Client
	task cluster.Task
}

// NewClient returns a Worker for a task of a cluster.
func NewClient(node cluster.Client, task cluster.Task) Worker { return &client{node, task} }

// String is the task's name.
func (c *client) String() string { return c.task.String() }

// Open waits until the worker is ready.
func (c *client) Open(ctx context.Context) (Session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	st, err := c.node.Stream(ctx, c.task, serveMethod)
	if err != nil {
		cancel(nil)
		return nil, lost(err)
	}
	s := &session{worker: c, stream: st, ctx: ctx, cancel: cancel, replies: make(chan *cluster.Frame, 1)}
	go s.read()
	hello, _, err := s.receive()
	if err != nil {
		return nil, errors.Join(err, s.Close(false))
	}
	s.id = hello.Session
	return s, nil
}

// lost marks errors of the connection to a worker. Another session does not undo damage, and a
// worker that refuses this task would do so again.
func lost(err error) error {
	if errors.Is(err, cluster.ErrDamaged) || errors.Is(err, cluster.ErrRefused) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrWorkerLost, err)
}

// session is a stream to a worker.
type session struct {
	worker  *client
	stream  cluster.ClientStream
	ctx     context.Context // of the stream; its cause is why the session is lost
	cancel  context.CancelCauseFunc
	replies chan *cluster.Frame // closed at the end of the stream
	id      uint64
	number  uint64 // of the latest run
}

// Context ends when the worker is lost, whether a function is running or not.
func (s *session) Context() context.Context { return s.ctx }

// read receives replies until the stream ends.
func (s *session) read() {
	defer close(s.replies)
	for {
		f, err := s.stream.Recv()
		if err != nil {
			s.cancel(lost(err))
			return
		}
		select {
		case s.replies <- f:
		case <-s.ctx.Done():
			f.Release()
			return
		}
	}
}

// receive takes a reply and returns its error.
func (s *session) receive() (*wire.FunctionReply, []*tensor.Tensor, error) {
	f, ok := <-s.replies
	if !ok {
		return nil, nil, s.ended()
	}
	defer f.Release()
	m, results, err := replyIn(f)
	if err != nil { // another run would end the same way
		return nil, nil, fmt.Errorf("%w on %v: %w: are all tasks of one version?", ErrFunction, s.worker, err)
	}
	switch m.Failure {
	case wire.FunctionFailure_FUNCTION_FAILURE_NONE:
		return m, results, nil
	case wire.FunctionFailure_FUNCTION_FAILURE_SERVERS:
		return m, nil, fmt.Errorf("%w: %v: %s", ErrServersLost, s.worker, m.Error)
	}
	return m, nil, fmt.Errorf("%w on %v: %s", ErrFunction, s.worker, m.Error)
}

// ended returns why the session is over. A message above its receiver's limit would fail again.
func (s *session) ended() error {
	cause := context.Cause(s.ctx)
	if status.Code(cause) == codes.ResourceExhausted {
		return fmt.Errorf("%w on %v: the arguments or the results are too large: %s", ErrFunction, s.worker, cause)
	}
	return lost(cause)
}

// Make requests a resource.
func (s *session) Make(_ context.Context, number int, maker string) error {
	m := &wire.FunctionRequest{Kind: wire.FunctionRequestKind_FUNCTION_REQUEST_KIND_MAKE, Number: uint64(number), Name: maker}
	if err := s.stream.Send(&cluster.Frame{Header: wire.Encode(m)}); err != nil {
		return lost(err)
	}
	_, _, err := s.receive()
	return err
}

// Run requests a run and waits for its end.
func (s *session) Run(ctx context.Context, c Call) ([]*tensor.Tensor, error) {
	s.number++
	request := requestOf(s.number, c)
	if err := checkHeader(request.Header); err != nil {
		return nil, fmt.Errorf("%w: arguments of %s: %w", ErrFunction, c.Function, err)
	}
	if err := s.stream.Send(request); err != nil {
		if status.Code(err) == codes.ResourceExhausted { // too large for this end, or for the other, which has then ended the stream
			s.cancel(lost(err))
			return nil, fmt.Errorf("%w: arguments of %s: %w", ErrFunction, c.Function, err)
		}
		return nil, lost(err)
	}
	requests, arrived := context.WithCancel(s.ctx) // the request to end the run
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(ended); s.end(requests) })
	_, results, err := s.receive()
	arrived()
	if !stop() {
		<-ended
	}
	return results, err
}

// end asks the run to end. Even if the request does not arrive, the caller waits for the run.
func (s *session) end(ctx context.Context) {
	f, err := s.worker.node.Call(ctx, s.worker.task, cancelMethod, &cluster.Frame{Header: wire.Encode(&wire.CancelRequest{Session: s.id, Number: s.number})})
	if err == nil {
		f.Release()
	}
}

// Close ends the stream.
func (s *session) Close(over bool) error {
	err := s.tell(over)
	s.cancel(nil)
	for f := range s.replies {
		f.Release()
	}
	return err
}

// tell announces that nothing else will follow, and waits until the worker knows.
func (s *session) tell(over bool) error {
	if !over {
		return nil
	}
	m := &wire.FunctionRequest{Kind: wire.FunctionRequestKind_FUNCTION_REQUEST_KIND_OVER}
	if err := s.stream.Send(&cluster.Frame{Header: wire.Encode(m)}); err != nil {
		return err
	}
	<-s.ctx.Done()
	if err := context.Cause(s.ctx); !errors.Is(err, io.EOF) {
		return fmt.Errorf("expected the end: %w", err)
	}
	return nil
}
