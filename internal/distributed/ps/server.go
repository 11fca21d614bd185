package ps

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
	"github.com/goestimator/goestimator/internal/distributed/wire"
)

// ServiceName is the service name of the methods.
const ServiceName = "goestimator.ParameterServer"

// ServerConfig describes a server.
type ServerConfig struct {
	// Incarnation distinguishes this run of the process from others; 0: a random one.
	Incarnation uint64
	// Client reaches the other servers in synchronous steps; nil if there are none.
	Client cluster.Client
	// Servers are all parameter servers, in the order of plans.
	Servers []cluster.Task
	// Hold, if set, keeps the server for the job of the caller that begins a session, or fails.
	Hold func(context.Context) error
	// Timeout bounds requests between servers; 0: 30 s.
	Timeout time.Duration
	// FenceHold bounds how long a checkpoint may hold back pushes; 0: 10 s.
	FenceHold time.Duration
	// FenceLease is the time after which an unread fence is dropped; 0: 60 s.
	FenceLease time.Duration
	Log        *slog.Logger // nil: slog.Default()
}

// Server holds its share of the variables. It knows nothing about models: plan and
// rules come with Create. It is safe for concurrent use.
type Server struct {
	c ServerConfig

	mu       sync.Mutex
	session  *session
	changed  chan struct{} // closed when session or its readiness change
	closed   bool
	finished chan struct{}
	outcome  Outcome
}

// NewServer returns a server without variables. Register its Service on a
// node; wait for Done; Close it.
func NewServer(c ServerConfig) *Server {
	for c.Incarnation == 0 {
		c.Incarnation = rand.Uint64()
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.FenceHold <= 0 {
		c.FenceHold = 10 * time.Second
	}
	if c.FenceLease <= 0 {
		c.FenceLease = 60 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Server{c: c, changed: make(chan struct{}), finished: make(chan struct{})}
}

// Done is closed when the chief has reported the end of training: the process may end.
func (s *Server) Done() <-chan struct{} { return s.finished }

// Outcome is the chief's report of the end; valid after Done.
func (s *Server) Outcome() Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome
}

// Outcome is the outcome of a training.
type Outcome struct {
	Reason     string
	Code       int   // the chief's exit code; 0: training is over
	GlobalStep int64 // at its end
}

// errClosed ends waiting requests when a server closes.
var errClosed = errors.New("the parameter server ends")

// Close ends waiting requests and drops the variables.
func (s *Server) Close() error {
	s.mu.Lock()
	old := s.session
	s.session, s.closed = nil, true
	s.signal()
	s.mu.Unlock()
	if old != nil {
		old.close(errClosed)
	}
	return nil
}

func (s *Server) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// methodName is the full name of a method.
func methodName(method string) string { return "/" + ServiceName + "/" + method }

// Service returns the methods for a node; doc.go describes them.
func (s *Server) Service() cluster.Service {
	return cluster.Service{Name: ServiceName,
		Unary: map[string]cluster.Handler{
			"Status": unary(s.status), "Create": unary(s.create), "Ready": unary(s.ready),
			"WaitStep": unary(s.waitStep), "Position": unary(s.position), "Stop": unary(s.stop), "Extend": unary(s.extend), "Finish": unary(s.finish),
			"FenceBegin": unary(s.fenceBegin), "FenceMark": unary(s.fenceMark), "FenceEnd": unary(s.fenceEnd), "Release": unary(s.release),
			"ReadSlice": s.readSlice, "Norms": unary(s.norms), "Apply": unary(s.applyRound),
		},
		Streams: map[string]cluster.StreamHandler{"Fill": s.fill, "Pull": requests(s.pull), "PullRows": requests(s.pullRows), "Push": requests(s.push)},
	}
}

// requests serves the requests of a stream, one after the other, until the caller ends
// it or one fails. serve returns io.EOF at an end instead of a request.
func requests(serve cluster.StreamHandler) cluster.StreamHandler {
	return func(ctx context.Context, st cluster.Stream) error {
		for {
			if err := serve(ctx, st); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// pointerTo is a message that is decoded into a *T.
type pointerTo[T any] interface {
	*T
	proto.Message
}

// unary makes a handler from a function of messages.
func unary[Q any, PQ pointerTo[Q]](f func(context.Context, PQ) (proto.Message, error)) cluster.Handler {
	return func(ctx context.Context, req *cluster.Frame) (*cluster.Frame, error) {
		q := PQ(new(Q))
		if err := parse(req.Header, q); err != nil {
			return nil, err
		}
		reply, err := f(ctx, q)
		if err != nil {
			return nil, err
		}
		return &cluster.Frame{Header: wire.Encode(reply)}, nil
	}
}

// find returns the ready session that a caller names.
func (s *Server) find(id *wire.SessionID) (*session, error) {
	x, err := s.findAny(id)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		return nil, status.Errorf(codes.FailedPrecondition, "session %x is still being created", id.GetSession())
	}
	if x.failed != nil {
		return nil, failure(x.failed)
	}
	return x, nil
}

// findAny returns the session that a caller names, ready or not.
func (s *Server) findAny(id *wire.SessionID) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id.GetIncarnation() != s.c.Incarnation {
		return nil, status.Errorf(codes.FailedPrecondition, "this is incarnation %x of the parameter server, not %x: it was restarted", s.c.Incarnation, id.GetIncarnation())
	}
	if s.session == nil || s.session.id != id.GetSession() {
		return nil, status.Errorf(codes.FailedPrecondition, "this parameter server has no session %x: it is empty, or the chief began another", id.GetSession())
	}
	return s.session, nil
}

// longPoll is the time that a call may wait for a change: a little less than its caller
// has, and short enough that a lost peer is noticed in time.
func longPoll(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := 10 * time.Second
	if d, ok := ctx.Deadline(); ok {
		wait = min(wait, max(time.Until(d)*9/10, 0))
	}
	return context.WithTimeout(ctx, wait)
}

func (s *Server) status(ctx context.Context, req *wire.StatusRequest) (proto.Message, error) {
	ctx, cancel := longPoll(ctx)
	defer cancel()
	for {
		r, changed := s.describe()
		if !req.Wait || r.Ready || r.Done {
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, nil
		}
	}
}

// describe returns the state and a channel that is closed when it changes.
func (s *Server) describe() (*wire.StatusReply, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &wire.StatusReply{Id: &wire.SessionID{Incarnation: s.c.Incarnation}}
	select {
	case <-s.finished:
		r.Done, r.Finished, r.Outcome = true, true, s.outcome.message()
	default:
	}
	if s.closed {
		r.Done = true
	}
	if x := s.session; x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		r.Id.Session, r.Ready, r.Server, r.Digest = x.id, x.ready && x.failed == nil, int64(x.server), x.plan.Digest()
		r.Settings, r.Last, r.Progress, r.Stats = x.plan.Settings.Encode(), x.last, x.progress.message(), x.stats.message()
		r.Stats.Queued = x.gate.waited()
	}
	return r, s.changed
}

func (s *Server) create(ctx context.Context, req *wire.CreateRequest) (proto.Message, error) {
	p, err := parsePlan(req.Plan)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if s.c.Hold != nil {
		if err := s.c.Hold(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || req.Id.GetIncarnation() != s.c.Incarnation {
		return nil, status.Errorf(codes.FailedPrecondition, "this is incarnation %x of the parameter server, not %x", s.c.Incarnation, req.Id.GetIncarnation())
	}
	if old := s.session; old != nil {
		if old.id == req.Id.Session && old.plan.Digest() == p.Digest() && int64(old.server) == req.Server {
			return &wire.Empty{}, nil // a repeated request
		}
		if !req.Replace && s.readyLocked() {
			return nil, status.Errorf(codes.AlreadyExists, "session %x at step %d is there already", old.id, old.now().step)
		}
		old.close(errEnded)
		s.session = nil
	}
	x, err := newSession(p, req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	x.rounds.reach(s.c)
	s.session = x
	s.signal()
	return &wire.Empty{}, nil
}

func (s *Server) readyLocked() bool {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.ready
}

func (s *Server) ready(_ context.Context, req *wire.ReadyRequest) (proto.Message, error) {
	x, err := s.findAny(req.Id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		for _, p := range req.Positions {
			if p.Rank < 0 || p.Rank >= maxRanks {
				return nil, status.Errorf(codes.InvalidArgument, "rank %d: expected 0 to %d", p.Rank, maxRanks-1)
			}
			x.positions[int(p.Rank)] = p.State
		}
		x.ready = true
		s.signal()
	}
	return &wire.Empty{}, nil
}

func (s *Server) waitStep(ctx context.Context, req *wire.WaitRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := longPoll(ctx)
	defer cancel()
	p, err := x.wait(ctx, func() bool { return x.step >= req.Step || x.stop })
	return &wire.WaitReply{Progress: p.message(), Came: int64s(x.rounds.came())}, err
}

func (s *Server) stop(_ context.Context, req *wire.StopRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.progress.stop {
		x.progress.stop, x.reason = true, req.Reason
		x.signal()
	}
	return &wire.Empty{}, nil
}

func (s *Server) extend(_ context.Context, req *wire.ExtendRequest) (proto.Message, error) {
	x, err := s.find(req.Id)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if req.Last != x.last && !Later(req.Last, x.last) {
		return nil, status.Errorf(codes.InvalidArgument, "training ends at step %d: expected a later one, got %d", x.last, req.Last)
	}
	x.last = req.Last
	return &wire.Empty{}, nil
}

func (s *Server) finish(_ context.Context, req *wire.FinishRequest) (proto.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Id.GetIncarnation() != s.c.Incarnation {
		return nil, status.Errorf(codes.FailedPrecondition, "this is incarnation %x of the parameter server, not %x", s.c.Incarnation, req.Id.GetIncarnation())
	}
	select {
	case <-s.finished:
	default:
		s.outcome = outcomeOf(req.Outcome)
		close(s.finished)
		s.signal()
	}
	return &wire.Empty{}, nil
}
