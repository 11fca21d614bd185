package ps

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/cluster"
)

// ServiceName is the name that the methods are called by.
const ServiceName = "goestimator.ParameterServer"

// ServerConfig describes a server.
type ServerConfig struct {
	// Incarnation tells this run of the process from others; 0: a random one.
	Incarnation uint64
	// Client reaches the other servers, in synchronous steps; nil where there are none.
	Client cluster.Client
	// Servers are all parameter servers, in the order of plans.
	Servers []cluster.Task
	// Hold, where set, keeps the server for the job of who begins a session, or fails.
	Hold func(context.Context) error
	// Timeout bounds what servers do with each other; 0: 30 s.
	Timeout time.Duration
	// FenceHold bounds how long a checkpoint may hold pushes back; 0: 10 s.
	FenceHold time.Duration
	// FenceLease is after what time a fence that nobody reads is dropped; 0: 60 s.
	FenceLease time.Duration
	Log        *slog.Logger // nil: slog.Default()
}

// Server holds its share of the variables. It knows nothing of models: plan and
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

// Done is closed when the chief has said that training is over: the process may end.
func (s *Server) Done() <-chan struct{} { return s.finished }

// Outcome is what the chief told of the end; valid after Done.
func (s *Server) Outcome() Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome
}

// Outcome is what became of a training.
type Outcome struct {
	Reason     string
	Code       int   // the chief's exit code; 0: training is over
	GlobalStep int64 // where it is over
}

// errClosed ends what waits when a server closes.
var errClosed = errors.New("the parameter server ends")

// Close ends what waits and drops the variables.
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
		Streams: map[string]cluster.StreamHandler{"Fill": s.fill, "Pull": s.pull, "PullRows": s.pullRows, "Push": s.push},
	}
}

// pointerTo is a message that is decoded into a *T.
type pointerTo[T any] interface {
	*T
	message
}

// unary makes a handler of a function on messages.
func unary[Q any, PQ pointerTo[Q]](f func(context.Context, PQ) (message, error)) cluster.Handler {
	return func(ctx context.Context, req *cluster.Frame) (*cluster.Frame, error) {
		q := PQ(new(Q))
		if err := parse(req.Header, q); err != nil {
			return nil, err
		}
		reply, err := f(ctx, q)
		if err != nil {
			return nil, err
		}
		return &cluster.Frame{Header: encode(reply)}, nil
	}
}

func parse(header []byte, m message) error {
	if err := decode(header, m); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// find returns the ready session that a caller means.
func (s *Server) find(id ident) (*session, error) {
	x, err := s.findAny(id)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		return nil, status.Errorf(codes.FailedPrecondition, "session %x is still being created", id.session)
	}
	if x.failed != nil {
		return nil, failure(x.failed)
	}
	return x, nil
}

// findAny returns the session that a caller means, ready or not.
func (s *Server) findAny(id ident) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id.incarnation != s.c.Incarnation {
		return nil, status.Errorf(codes.FailedPrecondition, "this is incarnation %x of the parameter server, not %x: it was restarted", s.c.Incarnation, id.incarnation)
	}
	if s.session == nil || s.session.id != id.session {
		return nil, status.Errorf(codes.FailedPrecondition, "this parameter server has no session %x: it is empty, or the chief began another", id.session)
	}
	return s.session, nil
}

// longPoll is the time that a call may wait for a change: somewhat less than
// what its caller has, and never so long that a lost peer is noticed late.
func longPoll(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := 10 * time.Second
	if d, ok := ctx.Deadline(); ok {
		wait = min(wait, max(time.Until(d)*9/10, 0))
	}
	return context.WithTimeout(ctx, wait)
}

func (s *Server) status(ctx context.Context, req *statusRequest) (message, error) {
	ctx, cancel := longPoll(ctx)
	defer cancel()
	for {
		r, changed := s.describe()
		if !req.wait || r.ready || r.done {
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
func (s *Server) describe() (*statusReply, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &statusReply{ident: ident{incarnation: s.c.Incarnation}}
	select {
	case <-s.finished:
		r.done, r.finished, r.outcome = true, true, s.outcome
	default:
	}
	if s.closed {
		r.done = true
	}
	if x := s.session; x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		r.session, r.ready, r.server, r.digest, r.progress, r.stats = x.id, x.ready && x.failed == nil, x.server, x.plan.Digest(), x.progress, x.stats
		r.common, r.last = x.plan.Settings.Encode(), x.last
		r.stats.Queued = x.gate.waited()
	}
	return r, s.changed
}

func (s *Server) create(ctx context.Context, req *createRequest) (message, error) {
	p, err := parsePlan(req.plan)
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
	if s.closed || req.incarnation != s.c.Incarnation {
		return nil, status.Errorf(codes.FailedPrecondition, "this is incarnation %x of the parameter server, not %x", s.c.Incarnation, req.incarnation)
	}
	if old := s.session; old != nil {
		if old.id == req.session && old.plan.Digest() == p.Digest() && old.server == req.server {
			return &nothing{}, nil // asked again
		}
		if !req.replace && s.readyLocked() {
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
	return &nothing{}, nil
}

func (s *Server) readyLocked() bool {
	s.session.mu.Lock()
	defer s.session.mu.Unlock()
	return s.session.ready
}

func (s *Server) ready(_ context.Context, req *readyRequest) (message, error) {
	x, err := s.findAny(req.ident)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ready {
		for _, p := range req.positions {
			if p.rank < 0 || p.rank >= maxRanks {
				return nil, status.Errorf(codes.InvalidArgument, "rank %d: expected 0 to %d", p.rank, maxRanks-1)
			}
			x.positions[p.rank] = p.state
		}
		x.ready = true
		s.signal()
	}
	return &nothing{}, nil
}

func (s *Server) waitStep(ctx context.Context, req *waitRequest) (message, error) {
	x, err := s.find(req.ident)
	if err != nil {
		return nil, err
	}
	ctx, cancel := longPoll(ctx)
	defer cancel()
	p, err := x.wait(ctx, func() bool { return x.step >= req.step || x.stop })
	return &waitReply{p, x.rounds.came()}, err
}

func (s *Server) stop(_ context.Context, req *stopRequest) (message, error) {
	x, err := s.find(req.ident)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.progress.stop {
		x.progress.stop, x.reason = true, req.reason
		x.signal()
	}
	return &nothing{}, nil
}

func (s *Server) extend(_ context.Context, req *extendRequest) (message, error) {
	x, err := s.find(req.ident)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if req.last != x.last && !Later(req.last, x.last) {
		return nil, status.Errorf(codes.InvalidArgument, "training ends at step %d: expected a later one, got %d", x.last, req.last)
	}
	x.last = req.last
	return &nothing{}, nil
}

func (s *Server) finish(_ context.Context, req *finishRequest) (message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.incarnation != s.c.Incarnation {
		return nil, status.Errorf(codes.FailedPrecondition, "this is incarnation %x of the parameter server, not %x", s.c.Incarnation, req.incarnation)
	}
	select {
	case <-s.finished:
	default:
		s.outcome = req.Outcome
		close(s.finished)
		s.signal()
	}
	return &nothing{}, nil
}
