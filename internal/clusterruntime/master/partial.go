package master

import (
	"context"
	"strconv"
	"sync"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/goestimator/goestimator/internal/compiler/graph"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// partialRun is a step that the client feeds and fetches in parts.
type partialRun struct {
	plan    *planned
	step    int64
	graph   *graph.Graph
	request partition.Request

	mu      sync.Mutex
	fed     map[string]bool // whether each feed has arrived
	fetched map[string]bool
	once    sync.Once
}

// partialRunSetup prepares a partial run.
func (m *Master) partialRunSetup(ctx context.Context, in *rpcs.PartialRunSetupRequest) (*rpcs.PartialRunSetupResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	ctx, over := s.begin(ctx)
	defer over()
	r := &partialRun{step: newStep(), fed: map[string]bool{}, fetched: map[string]bool{}}
	for _, name := range in.GetFeed() {
		r.fed[name] = false
	}
	for _, name := range in.GetFetch() {
		r.fetched[name] = false
	}
	r.request = partition.Request{Feeds: in.GetFeed(), Fetches: in.GetFetch(), Targets: in.GetTarget(), Partial: true}
	if r.plan, err = s.planFor(ctx, r.request); err != nil {
		return nil, s.because(err)
	}
	handle, err := s.addPartial(r)
	if err != nil {
		s.release(r.plan)
		return nil, err
	}
	return &rpcs.PartialRunSetupResponse{PartialRunHandle: handle}, nil
}

// addPartial keeps a partial run.
func (s *session) addPartial(r *partialRun) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", s.isClosed()
	}
	if len(s.partials) >= maxPartials {
		return "", status.Errorf(codes.ResourceExhausted, "the session has %d partial runs that have not ended, which is as many as are possible: end some", maxPartials)
	}
	r.graph, r.request.Lowered = s.graph, s.lowered
	handle := strconv.FormatInt(s.partialRun, 10)
	s.partialRun++
	s.partials[handle] = r
	return handle, nil
}

// runPartial runs a part of a partial run. The texts of its errors are TensorFlow's.
func (s *session) runPartial(ctx context.Context, handle string, part partition.Request, feeds *values) (*values, error) {
	s.mu.Lock()
	r := s.partials[handle]
	s.mu.Unlock()
	if r == nil {
		return nil, status.Error(codes.InvalidArgument, "Must run PartialRunSetup before performing partial runs")
	}
	c, err := r.next(part, feeds)
	if err != nil {
		return nil, err
	}
	fetched, err := r.plan.plan.all(ctx, c)
	if err != nil || c.last {
		s.mu.Lock()
		delete(s.partials, handle)
		s.mu.Unlock()
		r.end(s)
	}
	return fetched, err
}

// end ends a run on its workers.
func (r *partialRun) end(s *session) {
	r.once.Do(func() {
		r.plan.plan.cleanup(r.step, true)
		s.release(r.plan)
	})
}

// next checks a part, and records its feeds and fetches.
func (r *partialRun) next(part partition.Request, feeds *values) (call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, names := range map[string][]string{"feed": part.Feeds, "fetch": part.Fetches} {
		for _, name := range names {
			known, done := r.state(what)
			switch came, ok := known[name]; {
			case !ok:
				return call{}, status.Errorf(codes.InvalidArgument, "The %s %s was not specified in partial_run_setup.", what, name)
			case came:
				return call{}, status.Errorf(codes.InvalidArgument, "The %s %s has already been %s.", what, name, done)
			}
		}
	}
	request := r.request
	request.Feeds = nil // the missing ones are added below
	for name, came := range r.fed {
		if !came && feeds.get(name) == nil {
			request.Feeds = append(request.Feeds, name)
		}
	}
	request.Fetches = part.Fetches
	missing, err := partition.Missing(r.graph, request)
	if err != nil {
		return call{}, status.Error(codes.NotFound, err.Error())
	}
	if missing.Valid() {
		return call{}, status.Errorf(codes.InvalidArgument, "Fetch %v can't be computed from the feeds that have been fed so far.", missing)
	}
	c := call{step: r.step, feeds: feeds, fetches: map[string]bool{}}
	for _, name := range part.Feeds {
		r.fed[name] = true
	}
	for _, name := range part.Fetches {
		r.fetched[name], c.fetches[name] = true, true
	}
	c.last = all(r.fed) && all(r.fetched)
	return c, nil
}

// state returns the feeds or fetches, and the word for finished ones.
func (r *partialRun) state(what string) (map[string]bool, string) {
	if what == "feed" {
		return r.fed, "fed"
	}
	return r.fetched, "fetched"
}

func all(done map[string]bool) bool {
	for _, d := range done {
		if !d {
			return false
		}
	}
	return true
}
