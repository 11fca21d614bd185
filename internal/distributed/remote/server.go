package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/tensor"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	serviceName  = "goestimator.Functions"
	serveMethod  = "/" + serviceName + "/Serve"
	cancelMethod = "/" + serviceName + "/Cancel"
)

// Executor runs functions in this process. Its methods are called one at a time.
type Executor interface {
	// Begin begins a session: nothing from an earlier one remains.
	Begin(ctx context.Context) error
	// Make makes a resource.
	Make(ctx context.Context, number int, maker string) error
	// Run runs a function. Its results are read before the next call of a method.
	Run(ctx context.Context, c Call) ([]*tensor.Tensor, error)
	// End ends the session and drops its resources.
	End()
}

// Server runs functions for a Coordinator in another task, once it has an Executor.
type Server struct {
	executor Executor
	attached chan struct{} // closed when executor is set
	over     chan struct{} // closed when no more functions will follow
	finish   sync.Once
	turn     chan struct{} // holds a token while no session uses the executor

	mu        sync.Mutex
	session   uint64             // the session that has the executor
	latest    uint64             // the session that has it, or waits for it
	holder    cluster.Task       // the task whose coordinator has the session
	supersede context.CancelFunc // ends the session; nil: none
	cancelled uint64             // runs of the session up to this one must end
	number    uint64             // of the current run
	cancel    context.CancelFunc // ends it
	sessions  int                // present or waiting ones
	changed   chan struct{}      // closed when sessions changes
}

// NewServer returns a Server, whose Service must be registered on a node.
func NewServer() *Server {
	s := &Server{attached: make(chan struct{}), over: make(chan struct{}), turn: make(chan struct{}, 1), changed: make(chan struct{})}
	s.turn <- struct{}{}
	return s
}

// Attach lets the Server run functions; it must be called once.
func (s *Server) Attach(e Executor) {
	s.executor = e
	close(s.attached)
}

// Over is closed when the Coordinator has announced that no more functions will follow.
func (s *Server) Over() <-chan struct{} { return s.over }

// Sessions returns the number of sessions, and a channel that is closed when that changes.
func (s *Server) Sessions() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions, s.changed
}

// Detach waits until no session uses the Executor; no other session will get it.
func (s *Server) Detach() {
	s.mu.Lock()
	if s.supersede != nil {
		s.supersede()
	}
	s.mu.Unlock()
	<-s.turn
}

// Service is the service that Clients call.
func (s *Server) Service() cluster.Service {
	return cluster.Service{Name: serviceName,
		Unary:   map[string]cluster.Handler{"Cancel": s.serveCancel},
		Streams: map[string]cluster.StreamHandler{"Serve": s.serve}}
}

func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions += n
	close(s.changed)
	s.changed = make(chan struct{})
}

// serve serves a session.
func (s *Server) serve(ctx context.Context, st cluster.Stream) error {
	select {
	case <-s.attached:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	s.count(1)
	defer s.count(-1)
	ctx, id, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.release(id)
	if err := s.executor.Begin(ctx); err != nil {
		return st.Send(replyOf(0, nil, err))
	}
	defer s.executor.End()
	if err := st.Send(replyOf(id, nil, nil)); err != nil {
		return err
	}
	for {
		f, err := receive(ctx, st)
		switch {
		case ctx.Err() != nil:
			return errTaken
		case status.Code(err) == codes.ResourceExhausted:
			return err
		case err != nil:
			return nil // the Coordinator has gone
		}
		if over, err := s.answer(ctx, st, f); over || err != nil {
			return err
		}
	}
}

// errTaken ends a session for another one, or for Detach.
var errTaken = status.Error(codes.Aborted, "another session has taken this worker, or it runs no more functions")

// receive receives a frame until ctx, which may end before the stream's context, ends.
func receive(ctx context.Context, st cluster.Stream) (*cluster.Frame, error) {
	var f *cluster.Frame
	var err error
	received := make(chan struct{})
	go func() {
		defer close(received)
		f, err = st.Recv()
	}()
	select {
	case <-received:
		return f, err
	case <-ctx.Done():
		go func() { <-received; f.Release() }()
		return nil, ctx.Err()
	}
}

// begin takes the executor, if necessary from the previous session of the same task, which may have
// restarted or lost the stream. The coordinator of another task waits until the session has ended.
func (s *Server) begin(ctx context.Context) (context.Context, uint64, error) {
	caller, _ := cluster.PeerOf(ctx)
	s.mu.Lock()
	if s.supersede != nil {
		if s.holder != caller.Task {
			defer s.mu.Unlock()
			return nil, 0, status.Errorf(codes.Aborted, "it runs functions for %v, the caller is %v: a job has one coordinator", s.holder, caller.Task)
		}
		s.supersede()
	}
	id := rand.Uint64() | 1
	ctx, s.supersede = context.WithCancel(ctx)
	s.holder, s.latest = caller.Task, id
	s.mu.Unlock()
	select {
	case <-s.turn:
	case <-ctx.Done():
		s.leave(id)
		return nil, 0, errTaken
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.cancelled = id, 0
	return ctx, id, nil
}

// leave records that a session has ended, unless another one has replaced it.
func (s *Server) leave(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == id {
		s.supersede()
		s.supersede = nil
	}
}

// release returns the executor.
func (s *Server) release(id uint64) {
	s.leave(id)
	s.turn <- struct{}{}
}

// answer handles a frame.
func (s *Server) answer(ctx context.Context, st cluster.Stream, f *cluster.Frame) (over bool, err error) {
	defer f.Release()
	m := &wire.FunctionRequest{}
	if err := decode(f.Header, m); err != nil {
		return false, status.Error(codes.InvalidArgument, err.Error())
	}
	var results []*tensor.Tensor
	switch m.Kind {
	case wire.FunctionRequestKind_FUNCTION_REQUEST_KIND_OVER:
		s.finish.Do(func() { close(s.over) })
		return true, nil
	case wire.FunctionRequestKind_FUNCTION_REQUEST_KIND_MAKE:
		err = s.executor.Make(ctx, int(m.Number), m.Name)
	case wire.FunctionRequestKind_FUNCTION_REQUEST_KIND_RUN:
		var c Call
		if c, err = callOf(m, f); err == nil {
			results, err = s.run(ctx, m.Number, c)
		}
	default:
		return false, status.Errorf(codes.InvalidArgument, "a request of kind %d: are all tasks of one version?", m.Kind)
	}
	if ctx.Err() != nil {
		return false, status.FromContextError(ctx.Err()).Err()
	}
	reply := replyOf(0, results, err)
	if err = checkHeader(reply.Header); err == nil {
		err = st.Send(reply)
		if status.Code(err) != codes.ResourceExhausted {
			return false, err
		}
	}
	return false, st.Send(replyOf(0, nil, fmt.Errorf("results of %s: %w", m.Name, err)))
}

// run runs a function, unless it was cancelled.
func (s *Server) run(ctx context.Context, number uint64, c Call) (results []*tensor.Tensor, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.number, s.cancel = number, cancel
	early := number <= s.cancelled
	s.mu.Unlock()
	if early {
		return nil, context.Canceled
	}
	defer func() {
		if r := recover(); r != nil {
			results, err = nil, fmt.Errorf("panic: %v %s", r, stackHead())
		}
	}()
	results, err = s.executor.Run(ctx, c)
	for i, t := range results {
		if e := Check(t); e != nil && err == nil {
			err = fmt.Errorf("function %s: result %d: %w", c.Function, i, e)
		}
	}
	return results, err
}

// serveCancel ends a run.
func (s *Server) serveCancel(_ context.Context, f *cluster.Frame) (*cluster.Frame, error) {
	m := &wire.CancelRequest{}
	if err := wire.Decode(f.Header, m); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Session == s.session && s.session != 0 {
		s.cancelled = max(s.cancelled, m.Number)
		if s.cancel != nil && s.number <= s.cancelled {
			s.cancel()
		}
	}
	return &cluster.Frame{}, nil
}

// replyOf is the frame with the answer to a request.
func replyOf(session uint64, results []*tensor.Tensor, err error) *cluster.Frame {
	m := &wire.FunctionReply{Session: session}
	var body [][]byte
	if err != nil {
		m.Failure, m.Error = wire.FunctionFailure_FUNCTION_FAILURE_FUNCTION, err.Error()
		if errors.Is(err, ErrServersLost) {
			m.Failure = wire.FunctionFailure_FUNCTION_FAILURE_SERVERS
		}
		return &cluster.Frame{Header: wire.Encode(m)}
	}
	for _, t := range results {
		var h *wire.TensorHeader
		h, body = headerOf(t, body)
		m.Results = append(m.Results, h)
	}
	return &cluster.Frame{Header: wire.Encode(m), Body: body}
}
