package profiler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/platform/timeline"
	"github.com/goestimator/goestimator/internal/serving/inference"
	"github.com/goestimator/goestimator/internal/serving/profiler/pb"
	"github.com/goestimator/goestimator/internal/serving/servable"
	"github.com/goestimator/goestimator/tensor"
	xplane "github.com/wamuir/graft/tensorflow/tsl/profiler/protobuf/for_profiler_protos_go_proto"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is a duration longer than any test.
const long = uint64(MaxDuration / time.Millisecond)

// profiling is a running call of Profile.
type profiling struct {
	answer *pb.ProfileResponse
	err    error
	done   chan struct{}
}

// profile calls Profile and returns when the capture has begun.
func profile(t *testing.T, ctx context.Context, s *Service, r *pb.ProfileRequest) *profiling {
	t.Helper()
	p := &profiling{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.answer, p.err = s.Profile(ctx, r)
	}()
	for timeline.Active() == nil {
		select {
		case <-p.done:
			t.Fatalf("Profile: %v", p.err)
		default:
		}
	}
	return p
}

// space waits for the end and returns the capture.
func (p *profiling) space(t *testing.T) *xplane.XSpace {
	t.Helper()
	<-p.done
	if p.err != nil {
		t.Fatal(p.err)
	}
	x := &xplane.XSpace{}
	if d := p.answer.GetToolData(); len(d) != 1 || d[0].GetName() != "xplane.pb" {
		t.Fatalf("answer %v", p.answer)
	} else if err := proto.Unmarshal(d[0].GetData(), x); err != nil {
		t.Fatal(err)
	}
	return x
}

// names are the names of a space's events by line.
func names(x *xplane.XSpace) string {
	var all []string
	for _, l := range x.GetPlanes()[0].GetLines() {
		for _, e := range l.GetEvents() {
			all = append(all, l.GetName()+": "+x.GetPlanes()[0].GetEventMetadata()[e.GetMetadataId()].GetName())
		}
	}
	return strings.Join(all, ", ")
}

var call = inference.Call{API: "Predict", Model: "m", ID: servable.ID{Name: "m", Version: 2}, Start: time.Now(), Latency: time.Millisecond}

// A capture has requests and runs, and ends when its session is terminated.
func TestProfile(t *testing.T) {
	s := &Service{}
	p := profile(t, t.Context(), s, &pb.ProfileRequest{SessionId: "a", HostName: "h", DurationMs: 1, Opts: &pb.ProfileOptions{DurationMs: long}})
	if _, err := s.Profile(t.Context(), &pb.ProfileRequest{SessionId: "b", DurationMs: 1}); status.Code(err) != codes.AlreadyExists {
		t.Errorf("a second capture: %v", err)
	}
	s.Done(call)
	m := Wrap(call.ID, &servable.Func{Compute: func(ctx context.Context, _ map[string]*tensor.Tensor, _ []string) ([]*tensor.Tensor, error) {
		_, end := timeline.Begin(ctx, timeline.Event{Line: timeline.Runs, Name: "x", Op: "Add"})
		end()
		return nil, errors.New("of the model")
	}})
	if _, err := m.Run(t.Context(), nil, nil); err == nil || err.Error() != "of the model" {
		t.Errorf("run: %v", err)
	}
	for _, session := range []string{"b", "a", "a"} {
		if _, err := s.Terminate(t.Context(), &pb.TerminateRequest{SessionId: session}); err != nil {
			t.Error(err)
		}
	}
	x := p.space(t)
	if got := names(x); got != "requests 1: Predict m, runs 1: m, runs 1: x:Add" || p.answer.GetEmptyTrace() || x.GetHostnames()[0] != "h" {
		t.Errorf("captured %s of %v, empty %v", got, x.GetHostnames(), p.answer.GetEmptyTrace())
	}
	s.Done(call)
	answer, err := s.Profile(t.Context(), &pb.ProfileRequest{DurationMs: 1, HostName: strings.Repeat("ä", 1<<20) + "x"})
	if err != nil || !answer.GetEmptyTrace() || proto.Size(answer) > 1000 {
		t.Errorf("a capture of nothing: %v, %v", answer, err)
	}
}

// No more events are captured than requested, nor than there is room for.
func TestMaxEvents(t *testing.T) {
	for _, c := range []struct{ asked, want int }{{3, 3}, {0, 10}, {MaxEvents + 1, 10}} {
		s := &Service{}
		p := profile(t, t.Context(), s, &pb.ProfileRequest{DurationMs: long, MaxEvents: uint64(c.asked)})
		for range 10 {
			s.Done(call)
		}
		s.terminate(t)
		if got := strings.Count(names(p.space(t)), "Predict"); got != c.want {
			t.Errorf("%d events where %d were asked for", got, c.asked)
		}
	}
	if mostEvents(0) != MaxEvents || mostEvents(1<<63) != MaxEvents {
		t.Error("more events than there is room for")
	}
}

func (s *Service) terminate(t *testing.T) {
	t.Helper()
	if _, err := s.Terminate(t.Context(), &pb.TerminateRequest{}); err != nil {
		t.Error(err)
	}
}

// A capture ends with its caller, and with the server; then the next one can begin.
func TestEndOfCaptures(t *testing.T) {
	ending := make(chan struct{})
	s := &Service{Ending: ending}
	ctx, stop := context.WithCancel(t.Context())
	p := profile(t, ctx, s, &pb.ProfileRequest{DurationMs: long})
	stop()
	if <-p.done; status.Code(p.err) != codes.Canceled || timeline.Active() != nil {
		t.Errorf("a caller that went: %v, active %v", p.err, timeline.Active())
	}
	p = profile(t, t.Context(), s, &pb.ProfileRequest{DurationMs: long})
	s.Done(call)
	close(ending)
	if got := names(p.space(t)); got != "requests 1: Predict m" {
		t.Errorf("a server that ended: %s", got)
	}
}

// A capture may begin later; while it waits, no other can begin.
func TestDelayedCapture(t *testing.T) {
	s := &Service{}
	ahead := uint64(time.Now().Add(time.Minute).UnixNano())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Profile(ctx, &pb.ProfileRequest{DurationMs: 1, Opts: &pb.ProfileOptions{StartTimestampNs: ahead}})
		done <- err
	}()
	for {
		s.mu.Lock()
		waits := len(s.sessions) == 1
		s.mu.Unlock()
		if waits {
			break
		}
	}
	if _, err := s.Profile(t.Context(), &pb.ProfileRequest{DurationMs: 1}); status.Code(err) != codes.AlreadyExists || timeline.Active() != nil {
		t.Errorf("beside one that waits: %v, active %v", err, timeline.Active())
	}
	stop()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	if _, err := s.Profile(t.Context(), &pb.ProfileRequest{DurationMs: 1, Opts: &pb.ProfileOptions{StartTimestampNs: 1}}); err != nil {
		t.Errorf("a start that is over: %v", err)
	}
}

func TestRefused(t *testing.T) {
	s := &Service{}
	for _, r := range []*pb.ProfileRequest{{}, {DurationMs: long + 1}, {DurationMs: 1 << 63}, {Opts: &pb.ProfileOptions{DurationMs: 1<<64 - 1}},
		{DurationMs: 1, Opts: &pb.ProfileOptions{StartTimestampNs: 1<<64 - 1}}} {
		if _, err := s.Profile(t.Context(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", r, err)
		}
	}
	for _, millis := range []uint64{0, long + 1, 1<<64 - 1} {
		if _, err := s.Monitor(t.Context(), &pb.MonitorRequest{DurationMs: millis}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("monitor of %d ms: %v", millis, err)
		}
	}
}

func TestMonitor(t *testing.T) {
	ending := make(chan struct{})
	s := &Service{Ending: ending, Queued: func() float64 { return 3 }}
	type result struct {
		answer *pb.MonitorResponse
		err    error
	}
	done := make(chan result, maxMonitors)
	for i := range maxMonitors {
		go func() {
			a, err := s.Monitor(t.Context(), &pb.MonitorRequest{DurationMs: long, MonitoringLevel: int32(i%2 + 1), Timestamp: i%2 == 1})
			done <- result{a, err}
		}()
	}
	for {
		s.mu.Lock()
		all := len(s.monitors) == maxMonitors
		s.mu.Unlock()
		if all {
			break
		}
	}
	if _, err := s.Monitor(t.Context(), &pb.MonitorRequest{DurationMs: 1}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more: %v", err)
	}
	failed := call
	failed.ID.Version, failed.Err, failed.Latency = 1, errors.New("x"), 3*time.Millisecond
	nobody := inference.Call{API: "Predict", Model: "other", Err: errors.New("x"), Latency: 2 * time.Millisecond}
	for _, c := range []inference.Call{call, failed, nobody} {
		s.Done(c)
	}
	close(ending)
	detailed := 0
	for range maxMonitors {
		r := <-done
		if r.err != nil {
			t.Fatal(r.err)
		}
		text := r.answer.GetData()
		if !strings.Contains(text, "server: 3 requests (") || !strings.Contains(text, " 2 errors, mean latency 2.000 ms\nwaiting: 3\n") {
			t.Errorf("text %q", text)
		}
		if strings.HasPrefix(text, "Timestamp: ") && strings.Contains(text, "m version 1: 1 requests") && strings.Contains(text, "m version 2: 1 requests") {
			detailed++
		} else if strings.Count(text, "\n") != 2 {
			t.Errorf("text %q", text)
		}
	}
	if detailed != maxMonitors/2 || s.watched.Load() {
		t.Errorf("%d texts by version, watched %v", detailed, s.watched.Load())
	}
	if a, err := (&Service{}).Monitor(t.Context(), &pb.MonitorRequest{DurationMs: 1}); err != nil || !strings.HasPrefix(a.GetData(), "server: 0 requests (0.0/s), 0 errors, mean latency 0.000 ms") {
		t.Errorf("nothing: %v, %v", a, err)
	}
}

// A model's name in a text cannot forge a line.
func TestMonitorQuotesNames(t *testing.T) {
	m := &monitor{byVersion: map[servable.ID]*traffic{{Name: "a\nb\x1b[2J", Version: 1}: {requests: 1}}}
	if got := (&Service{}).text(m, &pb.MonitorRequest{MonitoringLevel: 2}, time.Second); strings.Count(got, "\n") != 2 || strings.Contains(got, "\x1b") {
		t.Errorf("text %q", got)
	}
}

func Example() {
	s := &Service{}
	a, err := s.Monitor(context.Background(), &pb.MonitorRequest{DurationMs: 1})
	fmt.Print(a.GetData(), err)
	// Output:
	// server: 0 requests (0.0/s), 0 errors, mean latency 0.000 ms
	// <nil>
}
