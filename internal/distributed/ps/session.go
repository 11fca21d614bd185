package ps

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/goestimator/goestimator/internal/distributed/wire"
	"github.com/goestimator/goestimator/internal/runtime/device"
)

// session is one life of a server's units: from a Create to the next one that
// replaces it.
type session struct {
	id     uint64
	plan   *Plan
	server int
	units  map[int]*unit // by number in the plan
	dev    device.Device
	gate   *gate
	ends   context.Context // done when the session is replaced or the server closes
	end    context.CancelCauseFunc

	mu      sync.Mutex
	changed chan struct{} // closed when step, stop, ready or failed change
	ready   bool
	last    int64 // the global step at which training ends; 0: none
	progress
	failed      error // a synchronous step could not be finished: the session is useless
	positions   map[int][]byte
	ranks       map[int]*rank
	stats       Stats
	checkpoints int // that were read

	function *stepUnits // on server 0 of a plan with a step function

	fences fences
	rounds rounds // of synchronous plans
}

// rank is the state of a worker's pushes.
type rank struct {
	mu       sync.Mutex // held while a push of the rank is applied
	client   uint64
	sequence uint64 // of the last push that was handled
	stale    bool   // its outcome
	err      error
	early    uint64 // of the last push that was applied before its end
}

// errEnded is the cause of the end of a replaced session.
var errEnded = errors.New("the session was replaced by a new one")

func newSession(p *Plan, req *wire.CreateRequest) (*session, error) {
	if req.Server < 0 || req.Server >= int64(p.Servers) {
		return nil, fmt.Errorf("server %d of %d", req.Server, p.Servers)
	}
	if req.Step < 0 || req.Last < 0 || req.Id.GetSession() == 0 {
		return nil, fmt.Errorf("session %x from step %d to %d: expected a session other than 0 and steps >= 0", req.Id.GetSession(), req.Step, req.Last)
	}
	s := &session{id: req.Id.Session, plan: p, server: int(req.Server), units: map[int]*unit{}, dev: device.NewHost(), gate: newGate(),
		changed: make(chan struct{}), positions: map[int][]byte{}, ranks: map[int]*rank{}}
	s.step, s.last = req.Step, req.Last
	s.ends, s.end = context.WithCancelCause(context.Background())
	s.rounds.init(s)
	for i, u := range p.units {
		if u.Server != s.server {
			continue
		}
		var err error
		if s.units[i], err = newUnit(p, i, s.dev, req.Step); err != nil {
			s.close(err)
			return nil, err
		}
	}
	if p.Rules.Step != nil && s.server == 0 {
		var err error
		if s.function, err = newStepUnits(p, s.units); err != nil {
			s.close(err)
			return nil, err
		}
	}
	return s, nil
}

// close ends waiting requests of the session; the garbage collector frees its
// units, as answers may still use them.
func (s *session) close(cause error) {
	s.end(cause)
	s.fences.close()
	s.rounds.wait()
}

// unit returns a unit of this server.
func (s *session) unit(number int) (*unit, error) {
	if u := s.units[number]; u != nil {
		return u, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "part %d is not on parameter server %d", number, s.server)
}

// signal wakes all goroutines that wait for a change; mu is held.
func (s *session) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits until holds returns true, the call's context ends (no error), or
// the session does. Then it returns the progress.
func (s *session) wait(ctx context.Context, holds func() bool) (progress, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.failed != nil {
			return s.progress, failure(s.failed)
		}
		if holds() || ctx.Err() != nil {
			return s.progress, nil
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-s.ends.Done():
			s.mu.Lock()
			return s.progress, s.ended()
		}
		s.mu.Lock()
	}
}

// ended is the error of a session that was replaced or whose server closed.
func (s *session) ended() error {
	return status.Error(codes.FailedPrecondition, context.Cause(s.ends).Error())
}

// now returns the progress.
func (s *session) now() progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress
}

// fail makes the session useless.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	s.signal()
}

// rank returns the record of a worker.
func (s *session) rank(number int) (*rank, error) {
	if number < 0 || number >= maxRanks {
		return nil, status.Errorf(codes.InvalidArgument, "rank %d: expected 0 to %d", number, maxRanks-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.ranks[number]
	if r == nil {
		r = &rank{}
		s.ranks[number] = r
	}
	return r, nil
}

// count changes the statistics.
func (s *session) count(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// advance counts a step and records workers' positions.
func (s *session) advance(step int64, positions map[int][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step = step
	for r, p := range positions {
		s.positions[r] = p
	}
	s.signal()
}

// listPositions returns all positions; mu is not held.
func (s *session) listPositions() (out []*wire.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, p := range s.positions {
		out = append(out, &wire.Position{Rank: int64(r), State: p})
	}
	return out
}
