package master

import (
	"context"
	"time"

	"github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// maxSessions is the most sessions of a server.
	maxSessions = 1 << 10
	// idleSession is how long a session without steps is kept if there are too many.
	idleSession = 10 * time.Minute
	// manySessions is the number of sessions of one connection from which on they are closed first, even if they were idle only briefly.
	manySessions = maxSessions / 8
	// maxGraph is the most bytes of a session's graph, maxGraphs of all graphs of a server.
	maxGraph  = 1 << 30
	maxGraphs = 4 << 30
	// graphCost is the approximate memory of a session's graph as a multiple of its size.
	graphCost = 4
	// maxPlans is the most sets of feeds, fetches and targets whose graphs a session keeps registered.
	maxPlans = 256
	// maxPartials is the most unfinished partial runs of a session.
	maxPartials = 1 << 8
	// maxCallables is the most callables of a session.
	maxCallables = 1 << 10
	// parting is how long a worker has to confirm that it forgot a step or graph. The client does not wait longer.
	parting = 10 * time.Second
)

// afterwards is the context for cleaning up after a step or session, which may have ended with its own context.
func afterwards() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), parting)
}

// keep adds a session. If there are too many, it closes another one: see victim.
func (m *Master) keep(s *session) error {
	m.mu.Lock()
	var idle *session
	if len(m.sessions) >= maxSessions {
		if idle = m.victim(); idle == nil {
			m.mu.Unlock()
			return status.Errorf(codes.ResourceExhausted, "%d sessions are open, which is as many as a server has: close one, or try again when one was idle for %v", maxSessions, idleSession)
		}
		delete(m.sessions, idle.handle)
	}
	m.sessions[s.handle] = s
	m.mu.Unlock()
	if idle != nil {
		m.log.Warn("session closed: there are too many and it was idle the longest", "session", idle.handle)
		idle.close()
	}
	return nil
}

// victim returns the session to close if there are too many, or nil: the one longest idle of a connection that opened very many or,
// without such a connection, the one longest idle of all, if that was long enough. The mutex is held.
func (m *Master) victim() (v *session) {
	opened := map[string]int{}
	for _, s := range m.sessions {
		if s.client != "" {
			opened[s.client]++
		}
	}
	now, greedy := time.Now(), false
	for _, s := range m.sessions {
		at, many := s.since(), opened[s.client] > manySessions
		if at.Before(now) && (many || now.Sub(at) > idleSession) && (v == nil || many && !greedy || many == greedy && at.Before(v.since())) {
			v, greedy = s, many
		}
	}
	return v
}

// clientOf names the connection of a call, "" within the process.
func clientOf(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// since returns when a step of the session was last requested, or the present time while one is running.
func (s *session) since() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) > 0 {
		return time.Now()
	}
	return s.active
}

// running is a running step.
type running struct{ cancel context.CancelFunc }

// begin records that a step is running until the second result is called. The step ends with the session.
func (s *session) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	one := &running{cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[one] = true
	if s.closed {
		cancel()
	}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, one)
		s.active = time.Now()
	}
}

// because gives a step that ended with its session TensorFlow's error text.
func (s *session) because(err error) error {
	if err != nil && s.isOver() {
		return status.Error(codes.Canceled, "Step was cancelled by an explicit call to `Session::Close()`.")
	}
	return err
}

func (s *session) isOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// grow counts the bytes of nodes added to the session's graph.
func (s *session) grow(def *graph_go_proto.GraphDef) error {
	n := int64(proto.Size(def))
	if has := s.bytes.Load(); n > maxGraph-has {
		return status.Errorf(codes.ResourceExhausted, "the session's graph would have %d bytes: at most %d are possible", has+n, int64(maxGraph))
	}
	if all := s.master.graphs.Add(n); all > maxGraphs {
		s.master.graphs.Add(-n)
		return status.Errorf(codes.ResourceExhausted, "the graphs of all sessions would have %d bytes: at most %d are possible: close sessions", all, int64(maxGraphs))
	}
	if err := s.account.ReserveModel(int(graphCost * n)); err != nil {
		s.master.graphs.Add(-n)
		return err
	}
	s.bytes.Add(n)
	return nil
}

// shrink undoes grow.
func (s *session) shrink(def *graph_go_proto.GraphDef) {
	n := int64(proto.Size(def))
	s.bytes.Add(-n)
	s.master.graphs.Add(-n)
	s.account.ReleaseModel(int(graphCost * n))
}
