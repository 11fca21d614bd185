package master

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/goestimator/goestimator/internal/clusterruntime/partition"
	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// runStep runs a step of a session. Errors of the step are part of the answer if the client asks for that.
func (m *Master) runStep(ctx context.Context, in *rpcs.RunStepRequest) (*rpcs.RunStepResponse, error) {
	out, err := m.step(ctx, in)
	if err == nil || !in.GetStoreErrorsInResponseBody() {
		return out, err
	}
	s := status.Convert(err)
	return &rpcs.RunStepResponse{StatusCode: int32(s.Code()), StatusErrorMessage: s.Message()}, nil
}

func (m *Master) step(ctx context.Context, in *rpcs.RunStepRequest) (*rpcs.RunStepResponse, error) {
	s, err := m.session(in.GetSessionHandle())
	if err != nil {
		return nil, err
	}
	ctx, over := s.begin(ctx)
	defer over()
	if ms := cmp.Or(in.GetOptions().GetTimeoutInMs(), s.timeout); ms > 0 && ms < math.MaxInt64/int64(time.Millisecond) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
		defer cancel()
	}
	r := partition.Request{Fetches: in.GetFetch(), Targets: in.GetTarget()}
	feeds := &values{}
	for _, f := range in.GetFeed() {
		if !feeds.add(f.GetName(), f.GetTensor()) {
			return nil, status.Errorf(codes.InvalidArgument, "The tensor %s is fed twice.", f.GetName())
		}
	}
	r.Feeds = feeds.names
	out := &rpcs.RunStepResponse{Metadata: &for_core_protos_go_proto.RunMetadata{}}
	fetched, err := s.values(ctx, in.GetPartialRunHandle(), r, call{feeds: feeds, options: in.GetOptions(), made: out.Metadata})
	if err != nil {
		return nil, s.because(err)
	}
	for _, name := range in.GetFetch() {
		out.Tensor = append(out.Tensor, &for_core_protos_go_proto.NamedTensorProto{Name: name, Tensor: fetched.get(name)})
	}
	return out, nil
}

// values runs a step or, with a handle, a part of a partial run, and returns the fetches.
func (s *session) values(ctx context.Context, handle string, r partition.Request, c call) (*values, error) {
	if handle != "" {
		return s.runPartial(ctx, handle, r, c.feeds)
	}
	p, err := s.planFor(ctx, r)
	if err != nil {
		return nil, err
	}
	defer s.release(p)
	return p.plan.run(ctx, c)
}
