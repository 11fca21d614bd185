package master

import (
	"context"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callable is a step whose names are sent only once.
type callable struct {
	options *for_core_protos_go_proto.RunOptions
	plan    *planned
	request partition.Request
}

func (m *Master) makeCallable(ctx context.Context, in *rpcs.MakeCallableRequest) (*rpcs.MakeCallableResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	o := in.GetOptions()
	if len(o.GetTensorConnection()) > 0 {
		return nil, status.Error(codes.Unimplemented, "callables whose outputs are connected with their inputs are not supported")
	}
	r := partition.Request{Feeds: o.GetFeed(), Fetches: o.GetFetch(), Targets: o.GetTarget()}
	p, err := s.planFor(ctx, r)
	if err != nil {
		return nil, err
	}
	handle, err := s.addCallable(callable{o.GetRunOptions(), p, r})
	if err != nil {
		s.release(p)
		return nil, err
	}
	return &rpcs.MakeCallableResponse{Handle: handle}, nil
}

// addCallable keeps a callable, which then uses its plan.
func (s *session) addCallable(c callable) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.isClosed()
	}
	if len(s.callables) >= maxCallables {
		return 0, status.Errorf(codes.ResourceExhausted, "the session has %d callables, which is as many as are possible: release some", maxCallables)
	}
	s.next++
	s.callables[s.next] = c
	return s.next, nil
}

func (m *Master) runCallable(ctx context.Context, in *rpcs.RunCallableRequest) (*rpcs.RunCallableResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	c, ok := s.callables[in.GetHandle()]
	if ok {
		c.plan.users++
	}
	s.mu.Unlock()
	if !ok {
		return nil, noCallable(in.GetHandle())
	}
	defer s.release(c.plan)
	ctx, over := s.begin(ctx)
	defer over()
	if got, want := len(in.GetFeed()), len(c.request.Feeds); got != want {
		return nil, status.Errorf(codes.InvalidArgument, "expected %d feeds, got %d", want, got)
	}
	feeds := &values{}
	for i, name := range c.request.Feeds {
		feeds.add(name, in.GetFeed()[i])
	}
	out := &rpcs.RunCallableResponse{Metadata: &for_core_protos_go_proto.RunMetadata{}}
	fetched, err := c.plan.plan.run(ctx, call{feeds: feeds, options: c.options, made: out.Metadata})
	if err != nil {
		return nil, s.because(err)
	}
	for _, name := range c.request.Fetches {
		out.Fetch = append(out.Fetch, fetched.get(name))
	}
	return out, nil
}

func (m *Master) releaseCallable(_ context.Context, in *rpcs.ReleaseCallableRequest) (*rpcs.ReleaseCallableResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	c, ok := s.callables[in.GetHandle()]
	delete(s.callables, in.GetHandle())
	s.mu.Unlock()
	if !ok {
		return nil, noCallable(in.GetHandle())
	}
	s.release(c.plan)
	return &rpcs.ReleaseCallableResponse{}, nil
}

func noCallable(handle int64) error {
	return status.Errorf(codes.InvalidArgument, "no callable has the handle %d", handle)
}
