package master

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// planned is the entry of a plan that one step makes and others wait for.
type planned struct {
	done  chan struct{} // closed when plan or err is set
	plan  *plan
	err   error
	users int   // steps and callables that use it, or wait for it
	used  int64 // last request, counted in requests
	gone  bool  // removed from the session's plans: the last user removes it from the workers
}

// planFor returns the plan of a request; the caller releases it. The first request registers its parts. The wait of others for that
// also ends with their ctx.
func (s *session) planFor(ctx context.Context, r partition.Request) (*planned, error) {
	for {
		e, first, err := s.entry(r)
		if err != nil {
			return nil, err
		}
		if first {
			err := s.fill(ctx, e, r)
			if err != nil {
				return nil, err
			}
			return e, nil
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			s.release(e)
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		if e.err == nil {
			return e, nil
		}
		s.release(e)
		if code := status.Code(e.err); code != codes.Canceled && code != codes.DeadlineExceeded { // from another step, which made the plan
			return nil, e.err
		}
	}
}

// entry returns the entry for the request's plan, and whether the caller must make the plan.
func (s *session) entry(r partition.Request) (e *planned, first bool, err error) {
	var room [512]byte
	key := appendKey(room[:0], r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, s.isClosed()
	}
	e = s.plans[string(key)]
	if first = e == nil; first {
		e = &planned{done: make(chan struct{})}
		s.plans[string(key)] = e
	}
	s.requests++
	e.used = s.requests
	e.users++
	return e, first, nil
}

// fill makes a plan. If that fails, the entry is forgotten. Beyond maxPlans, the least recently requested plan is removed.
func (s *session) fill(ctx context.Context, e *planned, r partition.Request) error {
	s.mu.Lock()
	g := s.graph // it does not change: a longer graph replaces it
	r.Lowered = s.lowered
	s.mu.Unlock()
	e.plan, e.err = s.plan(ctx, g, r)
	s.mu.Lock()
	if e.err == nil && s.closed {
		e.err = s.isClosed()
	}
	close(e.done)
	if e.err != nil {
		s.forget(e)
	}
	var old *planned
	if len(s.plans) > maxPlans {
		old = s.oldest(e)
	}
	s.mu.Unlock()
	if old != nil {
		s.release(old)
	}
	if e.err != nil {
		s.release(e)
	}
	return e.err
}

// oldest takes the least recently requested plan from the session, for the caller to release. The mutex is held.
func (s *session) oldest(but *planned) (old *planned) {
	for _, e := range s.plans {
		if e != but && (old == nil || e.used < old.used) {
			old = e
		}
	}
	if old != nil {
		old.users++
		s.forget(old)
	}
	return old
}

// forget removes a plan from the session. The mutex is held.
func (s *session) forget(e *planned) {
	e.gone = true
	for key, other := range s.plans {
		if other == e {
			delete(s.plans, key)
		}
	}
}

// release ends the use of a plan. The last user of a forgotten plan removes it from the workers; after the session was closed, they
// no longer have it.
func (s *session) release(e *planned) {
	s.mu.Lock()
	e.users--
	last := e.users == 0 && e.gone && !s.closed
	s.mu.Unlock()
	if last && e.plan != nil {
		e.plan.deregister()
	}
}

func (s *session) isClosed() error {
	return status.Errorf(codes.Aborted, "Session %s is closed.", s.handle)
}

// appendKey appends a key that only equal requests share. The order of the names does not matter.
func appendKey(to []byte, r partition.Request) []byte {
	for _, names := range [...][]string{r.Feeds, r.Fetches, r.Targets} {
		if !slices.IsSorted(names) {
			names = slices.Sorted(slices.Values(names))
		}
		for _, name := range names {
			to = strconv.AppendInt(to, int64(len(name)), 10)
			to = append(append(to, ':'), name...)
		}
		to = append(to, ';')
	}
	return strconv.AppendBool(to, r.Partial)
}

// close ends the session at its workers, which forget its graphs; running steps have been cancelled.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	for one := range s.running {
		one.cancel()
	}
	partials := s.partials
	s.partials, s.plans, s.callables = nil, nil, nil
	s.master.graphs.Add(-s.bytes.Swap(0))
	s.account.Close()
	for _, p := range s.cleaners {
		p.flush()
	}
	s.mu.Unlock()
	var done sync.WaitGroup // a worker that hangs delays the end only once
	done.Go(s.closeWorkers)
	for _, r := range partials {
		done.Go(func() { r.end(s) })
	}
	done.Wait()
}
