package profiler

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goestimator/goestimator/internal/format/xspace"
	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/serving/profiler/pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Name is the full name of the gRPC service.
const Name = "tensorflow.ProfilerService"

// Limits of captures.
const (
	MaxDuration = 5 * time.Minute // of a capture, and how far ahead it may begin
	MaxEvents   = 1 << 17         // of a capture: about 40 MB until it is sent
	maxHost     = 256             // bytes of the server's name in a capture
	maxMonitors = 16              // calls of Monitor at the same time
)

// toolName is the end of the name of the file that clients write, after their name for the server.
const toolName = "xplane.pb"

// Service captures what the process does, one capture at a time. As an inference.Observer it sees all requests.
type Service struct {
	Ending <-chan struct{} // when it is closed, captures end; nil: never
	Queued func() float64  // number of queued requests, for Monitor; nil: 0

	mu       sync.Mutex
	sessions map[string]*capture
	monitors []*monitor
	watched  atomic.Bool // there are monitors
}

// capture is a running call of Profile.
type capture struct{ terminated chan struct{} }

// Profile records for the duration of the request, or until it is terminated or the server ends, and answers with an XSpace. When the
// caller disconnects, the capture ends.
func (s *Service) Profile(ctx context.Context, r *pb.ProfileRequest) (*pb.ProfileResponse, error) {
	millis := r.GetOpts().GetDurationMs()
	if millis == 0 {
		millis = r.GetDurationMs()
	}
	d, err := duration(millis)
	if err != nil {
		return nil, err
	}
	delay, err := untilStart(r.GetOpts().GetStartTimestampNs())
	if err != nil {
		return nil, err
	}
	c, err := s.open(r.GetSessionId())
	if err != nil {
		return nil, err
	}
	var recorder *timeline.Recorder
	defer func() {
		s.close(r.GetSessionId()) // first, so that a caller who sees no recorder can begin
		if recorder != nil {
			recorder.End()
		}
	}()
	if err := s.wait(ctx, delay, c); err != nil {
		return nil, err
	}
	if recorder, err = timeline.Start(mostEvents(r.GetMaxEvents())); err != nil {
		return nil, status.Error(codes.AlreadyExists, err.Error())
	}
	if err := s.wait(ctx, d, c); err != nil {
		return nil, err
	}
	host := r.GetHostName()
	return answer(recorder.End(), host[:min(len(host), maxHost)])
}

func answer(c timeline.Capture, host string) (*pb.ProfileResponse, error) {
	data, err := proto.Marshal(xspace.Of(c, strings.ToValidUTF8(host, "\uFFFD")))
	if err != nil {
		return nil, fmt.Errorf("the capture as a message: %w", err)
	}
	return &pb.ProfileResponse{ToolData: []*pb.ProfileToolData{{Name: toolName, Data: data}}, EmptyTrace: len(c.Events) == 0}, nil
}

// duration is the duration of a call.
func duration(millis uint64) (time.Duration, error) {
	if millis == 0 || millis > uint64(MaxDuration.Milliseconds()) {
		return 0, status.Errorf(codes.InvalidArgument, "duration_ms: got %d, expected 1 to %d", millis, MaxDuration.Milliseconds())
	}
	return time.Duration(millis) * time.Millisecond, nil
}

// untilStart is the time until a Unix time in nanoseconds; zero if that is 0 or has passed.
func untilStart(nanos uint64) (time.Duration, error) {
	now := uint64(time.Now().UnixNano())
	if nanos <= now {
		return 0, nil
	}
	if nanos-now > uint64(MaxDuration) {
		return 0, status.Errorf(codes.InvalidArgument, "start_timestamp_ns: got a time more than %v ahead: expected one that is nearer", MaxDuration)
	}
	return time.Duration(nanos - now), nil
}

func mostEvents(asked uint64) int {
	if asked == 0 || asked > MaxEvents {
		return MaxEvents
	}
	return int(asked)
}

// wait returns when d has passed, the capture was terminated, or the server ends. It returns the error of ctx.
func (s *Service) wait(ctx context.Context, d time.Duration, c *capture) error {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
	case <-c.terminated:
	case <-s.Ending:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	return nil
}

// open registers a capture under the name of its session.
func (s *Service) open(session string) (*capture, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) > 0 {
		return nil, status.Error(codes.AlreadyExists, timeline.ErrBusy.Error())
	}
	c := &capture{make(chan struct{})}
	s.sessions = map[string]*capture{session: c}
	return c, nil
}

func (s *Service) close(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session)
}

// Terminate ends the capture of a session; its Profile call then answers with what it has recorded. Without a capture it does nothing, as
// in TensorFlow.
func (s *Service) Terminate(_ context.Context, r *pb.TerminateRequest) (*pb.TerminateResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.sessions[r.GetSessionId()]; c != nil {
		select {
		case <-c.terminated:
		default:
			close(c.terminated)
		}
	}
	return &pb.TerminateResponse{}, nil
}
