package master

import (
	"context"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callable is a step whose names were said once.
type callable struct {
	plan    *plan
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, status.Errorf(codes.Aborted, "Session %s is closed.", s.handle)
	}
	s.next++
	s.callables[s.next] = callable{p, r}
	return &rpcs.MakeCallableResponse{Handle: s.next}, nil
}

func (m *Master) runCallable(ctx context.Context, in *rpcs.RunCallableRequest) (*rpcs.RunCallableResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	c, ok := s.callables[in.GetHandle()]
	s.mu.Unlock()
	if !ok {
		return nil, noCallable(in.GetHandle())
	}
	if got, want := len(in.GetFeed()), len(c.request.Feeds); got != want {
		return nil, status.Errorf(codes.InvalidArgument, "expected %d feeds, got %d", want, got)
	}
	feeds := map[string]*tensor_go_proto.TensorProto{}
	for i, name := range c.request.Feeds {
		feeds[name] = in.GetFeed()[i]
	}
	values, err := c.plan.run(ctx, feeds)
	if err != nil {
		return nil, err
	}
	out := &rpcs.RunCallableResponse{Metadata: &for_core_protos_go_proto.RunMetadata{}}
	for _, name := range c.request.Fetches {
		out.Fetch = append(out.Fetch, values[name])
	}
	return out, nil
}

func (m *Master) releaseCallable(_ context.Context, in *rpcs.ReleaseCallableRequest) (*rpcs.ReleaseCallableResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.callables[in.GetHandle()]; !ok {
		return nil, noCallable(in.GetHandle())
	}
	delete(s.callables, in.GetHandle())
	return &rpcs.ReleaseCallableResponse{}, nil
}

func noCallable(handle int64) error {
	return status.Errorf(codes.InvalidArgument, "no callable has the handle %d", handle)
}
